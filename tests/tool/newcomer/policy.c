/* The block with the most valid pages that has any other: no good choice, but an example. */
static fe_peb choose_toy(struct fe_victims *v)
{
    for (uint32_t list = v->pages; list-- > 0;)
        if (head_of(v, list) != FE_PEB_NONE)
            return head_of(v, list);
    return FE_PEB_NONE;
}


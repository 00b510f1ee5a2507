/* Reads up to the end of a page, wherever they begin; writes pay nothing. */
static void test_cost_of_whole_pages(void **state)
{
    (void)state;
    struct fe_ftl_params p = {.part = {.toy_read_ns = 23}};
    begin_test(&p);
    assert_int_equal(command(false, 3 * PAGE, PAGE), 23);
    assert_int_equal(command(false, 3 * PAGE + 512, 2 * PAGE - 512), 23);
    assert_int_equal(command(false, 3 * PAGE, PAGE - 512), 0);
    assert_int_equal(command(true, 3 * PAGE, PAGE), 0);
}


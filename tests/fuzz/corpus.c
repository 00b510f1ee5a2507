/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a fuzz target over the files that the arguments name, and over cuts and changes of
 * each, so that a small corpus does more than repeat itself.
 */
#include "fuzz.h"

#include "base/rng.h"

#define VARIANTS 24

static uint8_t *read_file(const char *path, size_t *ret_len)
{
    FILE *f = fopen(path, "rb");
    FT_MUST(f && fseek(f, 0, SEEK_END) == 0, "%s: cannot be read", path);
    long len = ftell(f);
    FT_MUST(len >= 0 && fseek(f, 0, SEEK_SET) == 0, "%s: cannot be read", path);
    uint8_t *data = malloc(len ? (size_t)len : 1); /* a sanitizer sees what is read behind it */
    FT_MUST(data && fread(data, 1, (size_t)len, f) == (size_t)len, "%s: cannot be read", path);
    fclose(f);
    *ret_len = (size_t)len;
    return data;
}

static uint64_t draw(uint64_t file, uint64_t i, uint64_t n)
{
    return fe_rng_below(fe_rng(file, FE_RNG_TEST, i, n), n);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t len;
        uint8_t *data = read_file(argv[i], &len);
        LLVMFuzzerTestOneInput(data, len);
        for (uint64_t k = 0; k < VARIANTS && len > 0; k++) {
            size_t cut = k % 3 == 0 ? (size_t)draw((uint64_t)i, k, len) : len;
            uint8_t *changed = malloc(cut ? cut : 1);
            FT_MUST(changed, "no memory");
            memcpy(changed, data, cut);
            for (uint64_t c = 0; c < k % 4 && cut > 0; c++)
                changed[draw((uint64_t)i, k * 8 + c + 1000, cut)] ^=
                    (uint8_t)(1u << draw((uint64_t)i, k * 8 + c + 2000, 8));
            LLVMFuzzerTestOneInput(changed, cut);
            free(changed);
        }
        free(data);
    }
    printf("%d files, %d inputs each\n", argc - 1, VARIANTS + 1);
    return argc > 1 ? 0 : 1;
}

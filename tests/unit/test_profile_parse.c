/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Profiles from text: what an INI file may look like, what every mistake is called and
 * in which line, and that no text at all does harm.
 */
#include "test_profile.h"

#include "ftl/ftl.h"
#include "lib/rand.h"
#include "profile/parse.h"

static void test_parse_spells_out_every_default(void **state)
{
    struct fe_profile p;
    (void)state;
    parse_good(&p, MINIMAL);
    assert_string_equal(p.name, "x");
    assert_value(&p, "device.capacity", "auto");
    assert_value(&p, "device.sector_size", "512");
    assert_value(&p, "nand.channels", "1");
    assert_value(&p, "nand.oob_size", "128");
    assert_value(&p, "nand.bus_rate", "unlimited");
    assert_value(&p, "nand.endurance", "5000");
    assert_value(&p, "ftl.op", "7%");
    assert_value(&p, "ftl.gc_policy", "greedy");
    assert_value(&p, "cache.size", "none");
    assert_value(&p, "link.type", "none");
    assert_value(&p, "link.max_transfer", "32M");
    char buf[8];
    assert_false(fe_profile_get(&p, "nand.nothing", buf, sizeof buf));
    check_fixpoint(&p);
    fe_profile_fini(&p);
}

static void test_parse_link_type_sets_defaults(void **state)
{
    static const char *const links[][5] = {
        {"usb-fs", "1216KB/s", "1ms", "120K", "1"}, {"usb-hs", "41MB/s", "300us", "120K", "1"},
        {"usb-ss", "400MB/s", "50us", "1M", "1"},   {"uas", "400MB/s", "20us", "1M", "32"},
        {"sd-ds", "12500KB/s", "100us", "512K", "1"}, {"sd-hs", "25MB/s", "100us", "512K", "1"},
        {"sd-uhs", "104MB/s", "100us", "512K", "1"}, {"emmc", "52MB/s", "50us", "512K", "1"},
        {"parallel", "unlimited", "0", "32M", "1"}, {"none", "unlimited", "0", "32M", "1"},
        {"emmc-cq", "400MB/s", "20us", "512K", "32"}, {"sd-ddr50", "46MB/s", "100us", "512K", "1"},
        {"sd-a2", "94100KB/s", "20us", "1280K", "32"},
        {"emmc-hs200", "172MB/s", "50us", "512K", "1"},
        {"emmc-hs400", "400MB/s", "50us", "512K", "1"},
    };
    (void)state;
    assert_int_equal(ft_array_len(links), FE_N_LINK_TYPES);
    for (size_t i = 0; i < ft_array_len(links); i++) {
        char text[512];
        struct fe_profile p;
        snprintf(text, sizeof text, "%s[link]\ntype = %s\n", MINIMAL, links[i][0]);
        parse_good(&p, text);
        assert_value(&p, "link.bandwidth", links[i][1]);
        assert_value(&p, "link.command_overhead", links[i][2]);
        assert_value(&p, "link.max_transfer", links[i][3]);
        assert_value(&p, "link.queue_depth", links[i][4]);
        assert_value(&p, "link.task_overhead", strcmp(links[i][0], "sd-a2") == 0 ? "59us" : "0");
        assert_value(&p, "link.queue", "in-order");
        check_fixpoint(&p);
        fe_profile_fini(&p);
    }
}

static void test_parse_given_keys_beat_derived_ones(void **state)
{
    static const char *const overrides[] = {"link.type=usb-hs"};
    struct fe_profile p;
    struct fe_err err;
    (void)state;
    assert_int_equal(parse_with(&p, MINIMAL "[link]\ntype=uas\nmax_transfer=64K\n", overrides, 1,
                                &err), 0);
    assert_value(&p, "link.max_transfer", "64K");
    assert_value(&p, "link.bandwidth", "41MB/s");
    fe_profile_fini(&p);
}

#define NO_BLOCKS(capacity, rest)                                                                  \
    "[device]\ncapacity = " capacity "\n[nand]\ncell=slc\npages_per_block=64\npage_size=4K\n"      \
    "tR=0\ntPROG=0\ntBERS=0\n" rest "[ftl]\ntype=page\n"

static void test_parse_chip_follows_capacity(void **state)
{
    static const char *const bigger[] = {"device.capacity=64G"};
    struct fe_profile p;
    struct fe_err err = {""};
    (void)state;
    parse_good(&p, NO_BLOCKS("1G", ""));
    assert_int_equal(p.nand.blocks_per_plane, 4383); /* 4096 * 1.07, rounded up */
    assert_int_equal(fe_profile_set(&p, "device.capacity", "2G", &err), 0);
    assert_int_equal(p.nand.blocks_per_plane, 8766);
    assert_int_equal(fe_profile_set(&p, "device.capacity", "auto", &err), -EINVAL);
    assert_string_equal(err.text, "device.capacity=auto: auto needs nand.blocks_per_plane, from "
                                  "which it follows");
    check_fixpoint(&p);
    fe_profile_fini(&p);

    assert_int_equal(parse_with(&p, NO_BLOCKS("1G", ""), bigger, 1, &err), 0);
    assert_int_equal(p.nand.blocks_per_plane, 280495);
    fe_profile_fini(&p);

    /* An area of 256 MiB takes as much again with two bits a cell, twice as much with three. */
    parse_good(&p, "[device]\ncapacity=1G\n[nand]\ncell=mlc\npages_per_block=66\npage_size=4K\n"
                   "tR=0\ntPROG=0\ntBERS=0\n[ftl]\ntype=page\nop=10%\nenhanced_size=256M\n");
    assert_int_equal(p.nand.blocks_per_plane, 5462); /* 5/4 x 1.1 x 1 GiB / 264 KiB, rounded up */
    assert_int_equal(fe_profile_set(&p, "nand.cell", "tlc", &err), 0);
    assert_int_equal(p.nand.blocks_per_plane, 6554);
    check_fixpoint(&p);
    fe_profile_fini(&p);

    /* So little that the strategy's own blocks count: it is asked. */
    parse_good(&p, NO_BLOCKS("512", "channels=8\ndies_per_channel=4\n"));
    assert_true(p.nand.blocks_per_plane > 1);
    struct fe_geometry geo;
    assert_int_equal(fe_geometry_init(&geo, &p.nand, NULL), 0);
    assert_true(fe_ftl_registry[p.ftl.type]->max_lpns(&p.ftl, &geo, NULL) >= 1);
    fe_profile_fini(&p);

    /* A block on each plane is 8 GiB, and the largest device: no product fits 32 bits. */
    parse_good(&p, "[device]\ncapacity=16T\n[nand]\ncell=slc\npages_per_block=8192\n"
                   "page_size=64K\nplanes_per_die=16\ntR=0\ntPROG=0\ntBERS=0\n[ftl]\ntype=page\n"
                   "op=25%\n");
    assert_int_equal(p.nand.blocks_per_plane, 2560);
    fe_profile_fini(&p);

    parse_bad("[device]\ncapacity=16T\n[nand]\ncell=slc\npages_per_block=1\npage_size=512\ntR=0\n"
              "tPROG=0\ntBERS=0\n[ftl]\ntype=page\n",
              "x.ini:2: device.capacity = 16T: needs 36764920054 blocks on each plane of such a "
              "chip, 268435456 are the most");
    parse_bad("[nand]\ncell=slc\npages_per_block=1\npage_size=512\ntR=0\ntPROG=0\ntBERS=0\n[ftl]\n"
              "type=page\n",
              "x.ini:1: nand.blocks_per_plane is missing (it follows if device.capacity is "
              "given); allowed: 1 to 268435456");
}

static void test_parse_takes_what_editors_write(void **state)
{
    static const char *const texts[] = {
        "\xef\xbb\xbf" MINIMAL,
        "\r\n; comment\r\n# comment\r\n[nand]\r\ncell = mlc\r\nblocks_per_plane = 64\r\n"
        "pages_per_block = 128\r\npage_size = 4K\r\ntR = 50us\r\ntPROG = 300us/1200us\r\n"
        "tBERS = 2ms\r\n[ftl]\r\ntype = page\r\n",
        "  [nand]  \n\tcell\t=\tmlc\t\n  blocks_per_plane=64\npages_per_block=128;\n",
        "[nand] ; comment\ncell=mlc ; comment\nblocks_per_plane : 64\npages_per_block=128\n"
        "page_size=4K\ntR=50us\ntPROG=300us/1200us\ntBERS=2ms\n[device]\n[ftl] # comment\n"
        "type=page\n[nand]\n[ecc]\n[faults]\n[step]",
        MINIMAL "# a very long comment ..........................................................."
                "..............................................................................."
                "...............................................................................\n",
    };
    char *want = NULL;
    (void)state;
    for (size_t i = 0; i < ft_array_len(texts); i++) {
        struct fe_profile p;
        if (i == 2) {
            parse_bad(texts[i], "x.ini:4: nand.pages_per_block = 128;: is not a plain number; "
                                "allowed: 1 to 8192");
            continue;
        }
        parse_good(&p, texts[i]);
        char *got = show(&p);
        if (want)
            assert_string_equal(got, want);
        else
            want = strdup(got);
        free(got);
        fe_profile_fini(&p);
    }
    free(want);
}

static void test_parse_names_line_and_mistake(void **state)
{
    char long_line[400];
    (void)state;
    parse_bad("", "x.ini:1: nand.cell is missing; allowed: slc, mlc, tlc, nor");
    parse_bad("\n\n[nand]\n\n",
              "x.ini:3: nand.cell is missing; allowed: slc, mlc, tlc, nor");
    parse_bad("cell = slc\n", "x.ini:1: cell stands before the first [section]");
    parse_bad("[nadn]\n", "x.ini:1: unknown section [nadn]; did you mean [nand]?");
    parse_bad("[Nand]\n", "x.ini:1: unknown section [Nand]; did you mean [nand]?");
    parse_bad("[ nand ]\n",
              "x.ini:1: unknown section [ nand ]; did you mean [nand]?");
    parse_bad("[]\n", "x.ini:1: unknown section []; known: [device] [nand] [ftl] [cache] [link] "
                      "[ecc] [faults] [step] [provenance] [fidelity]");
    parse_bad("[nand\n", "x.ini:1: '[' without ']'");
    parse_bad("[nand] cell=slc\n", "x.ini:1: something stands behind the ']' of a section");
    parse_bad("[nand]\n\nwhatever\n",
              "x.ini:3: \"whatever\" is neither [SECTION] nor KEY = VALUE");
    parse_bad("[nand]\nwhatever ; = 1\n",
              "x.ini:2: \"whatever \" is neither [SECTION] nor KEY = VALUE");
    parse_bad("[nand]\n = 5\n", "x.ini:2: no key before the '='");
    parse_bad("[nand]\nnand.cell = slc\n",
              "x.ini:2: unknown key nand.nand.cell; inside [nand] write cell");
    parse_bad("[nand]\ncel = slc\n", "x.ini:2: unknown key nand.cel; did you mean nand.cell?");
    parse_bad("[nand]\nbandwidth = 5MB/s\n",
              "x.ini:2: unknown key nand.bandwidth; bandwidth belongs to [link]");
    /* the right section comes before a key of a similar name */
    parse_bad("[nand]\ntype = page\n",
              "x.ini:2: unknown key nand.type; type belongs to [ftl] or [link]");
    parse_bad("[ftl]\nspare_blocks = 1\n",
              "x.ini:2: unknown key ftl.spare_blocks; spare_blocks belongs to [faults]");
    for (const char *const *v = (const char *const[]){"8G # x", "# x", "8G\t#x", NULL}; *v; v++) {
        char text[64], why[160];
        snprintf(text, sizeof text, "[device]\ncapacity = %s\n", *v);
        snprintf(why, sizeof why, "x.ini:2: device.capacity = %s: a comment with '#' stands on a "
                                  "line of its own; behind a value write ';'",
                 strchr(*v, '\t') ? "8G?#x" : *v);
        parse_bad(text, why);
    }
    parse_bad("[ecc]\ncorrectable_bit = 8\n",
              "x.ini:2: unknown key ecc.correctable_bit; did you mean ecc.correctable_bits?");
    parse_bad("[nand]\ncell = slc\nchannels = 1\ncell = mlc\n",
              "x.ini:4: nand.cell is given twice, first in line 2");
    parse_bad("[nand]\ncell = slc\n[ftl]\n[nand]\ncell = slc\n",
              "x.ini:5: nand.cell is given twice, first in line 2");
    parse_bad("[nand]\ntR = 50\n", "x.ini:2: nand.tR = 50: has no unit (ns, us, ms or s); allowed: "
                                   "0 to 10s, one value or one for each bit of the cell: A/B/C");
    parse_bad("[nand]\ncell =\n", "x.ini:2: nand.cell = : is empty; allowed: slc, mlc, tlc, nor");
    parse_bad("[nand]\ncell = \x01\n", "x.ini:2: the control character 0x01");
    parse_bad("[nand]\ncell = s\rc\n", "x.ini:2: the control character 0x0d");
    parse_bad(MINIMAL "[device]\nsector_size=4K\ncapacity=1001K\n[link]\nmax_transfer=1536\n",
              "x.ini:13: device.capacity = 1001K: is not a multiple of device.sector_size, 4096 "
              "bytes");
    memset(long_line, 'a', sizeof long_line);
    memcpy(long_line, "[nand]\n", 7);
    memcpy(long_line + 300, "\ntype=page\n", 12);
    parse_bad(long_line, "x.ini:2: a line of 293 bytes; 197 are the most");
}

static void test_parse_checks_keys_against_each_other(void **state)
{
    (void)state;
    parse_bad(MINIMAL "[device]\nsector_size=4K\ncapacity=1001K\n",
              "x.ini:13: device.capacity = 1001K: is not a multiple of device.sector_size, 4096 "
              "bytes");
    parse_bad(MINIMAL "[device]\nsector_size=4K\n[link]\nmax_transfer=2K\n",
              "x.ini:14: link.max_transfer = 2K: is not a multiple of device.sector_size, 4096 "
              "bytes");
    parse_bad("[nand]\ntR=1us/2us\ncell=slc\nblocks_per_plane=1\npages_per_block=1\npage_size=4K\n"
              "tPROG=1us\ntBERS=1us\n[ftl]\ntype=page\n",
              "x.ini:2: nand.tR = 1us/2us: has 2 values, nand.cell = slc takes one");
    parse_bad("[nand]\ntR=1us/1us\ncell=tlc\nblocks_per_plane=1\npages_per_block=1\npage_size=4K\n"
              "tPROG=1us\ntBERS=1us\n[ftl]\ntype=page\n",
              "x.ini:2: nand.tR = 1us/1us: has 2 values, nand.cell = tlc takes one or three");
    parse_bad("[nand]\ntR=1us\ncell=slc\nblocks_per_plane=1\npages_per_block=1\npage_size=512\n"
              "tPROG=1us\ntBERS=1us\n[ftl]\ntype=page\n[device]\nsector_size=1K\n",
              "x.ini:6: nand.page_size = 512: is not a multiple of device.sector_size, 1024 bytes");
    parse_bad("[nand]\npage_parts=8\ntR=1us\ncell=slc\nblocks_per_plane=1\npages_per_block=1\n"
              "page_size=2K\ntPROG=1us\ntBERS=1us\n[ftl]\ntype=page\n",
              "x.ini:7: nand.page_size = 2K: is not a multiple of device.sector_size, 512 bytes");
    parse_bad("[nand]\npage_parts=4\ntR=1us\ncell=slc\nblocks_per_plane=1\npages_per_block=1\n"
              "page_size=2K\noob_size=18\ntPROG=1us\ntBERS=1us\n[ftl]\ntype=page\n",
              "x.ini:2: nand.page_parts = 4: does not divide the bytes next to a page");
    parse_bad("[nand]\npage_parts=4\ntR=1us\ncell=nor\nblocks_per_plane=1\npages_per_block=1\n"
              "page_size=2K\nprogram_unit=32\ntPROG=1us\ntBERS=1us\n[ftl]\ntype=page\n",
              "x.ini:2: nand.page_parts = 4: a chip that is programmed by units has no parts of "
              "pages");
}

static void test_parse_every_missing_key_is_named(void **state)
{
    static const char *const lines[] = {
        "cell = mlc\n", "blocks_per_plane = 64\n", "pages_per_block = 128\n", "page_size = 4K\n",
        "tR = 50us\n", "tPROG = 300us/1200us\n", "tBERS = 2ms\n", "[ftl]\ntype = page\n",
    };
    static const char *const keys[] = {"nand.cell", "nand.blocks_per_plane", "nand.pages_per_block",
                                       "nand.page_size", "nand.tR", "nand.tPROG", "nand.tBERS",
                                       "ftl.type"};
    (void)state;
    for (size_t missing = 0; missing < ft_array_len(lines); missing++) {
        char text[512] = "[nand]\n", want[128];
        struct fe_profile p;
        struct fe_err err;
        for (size_t i = 0; i < ft_array_len(lines); i++)
            if (i != missing)
                strcat(text, lines[i]);
        snprintf(want, sizeof want, "x.ini:%d: %s is missing", missing == 7 ? 8 : 1, keys[missing]);
        assert_int_equal(parse_with(&p, text, NULL, 0, &err), -EINVAL);
        assert_memory_equal(err.text, want, strlen(want));
        assert_non_null(strstr(err.text, "; allowed: "));
    }
}

static void test_parse_nul_bytes_are_refused(void **state)
{
    static const char text[] = "[nand]\ncell = s\0lc\n";
    struct fe_profile p;
    struct fe_err err = {""};
    (void)state;
    assert_int_equal(fe_profile_parse(&p, "x.ini", text, sizeof text - 1, NULL, 0, &err), -EINVAL);
    assert_string_equal(err.text,
                        "x.ini:2: a NUL byte: this is not a text file of 8-bit characters");
    /* The text ends where its length says, with whatever may follow. */
    static const char more[] = MINIMAL "[what]\n";
    assert_int_equal(fe_profile_parse(&p, "x.ini", more, sizeof MINIMAL - 1, NULL, 0, NULL), 0);
    fe_profile_fini(&p);
}

/* Lines around inih's buffer must be read whole or refused, never in two parts. */
static void test_parse_no_line_is_split(void **state)
{
    (void)state;
    for (size_t len = 150; len < 260; len++) {
        char text[1024], key[300], want[64];
        struct fe_profile p;
        struct fe_err err;
        /* The value runs into the next line's "cell = slc" if the line is split. */
        memset(key, 'x', sizeof key);
        memcpy(key, "note = ", 7);
        key[len] = '\0';
        snprintf(text, sizeof text, "%s[provenance]\n%s\n", MINIMAL, key);
        int r = parse_with(&p, text, NULL, 0, &err);
        if (len <= 197) {
            assert_int_equal(r, 0);
            assert_int_equal(p.n_provenance, 1);
            assert_int_equal(strlen(p.provenance[0].value), len - 7);
            check_fixpoint(&p);
            fe_profile_fini(&p);
        } else {
            assert_int_equal(r, -EINVAL);
            snprintf(want, sizeof want, "x.ini:12: a line of %zu bytes; 197 are the most", len);
            assert_string_equal(err.text, want);
        }
    }
    /* Taken as written, but not once it is written as KEY = VALUE. */
    char text[1024], value[200];
    memset(value, 'x', sizeof value);
    value[196 - 5] = '\0';
    snprintf(text, sizeof text, "%s[provenance]\nnote=%s\n", MINIMAL, value);
    parse_bad(text, "x.ini:12: longer than 197 bytes when written as KEY = VALUE");
    snprintf(text, sizeof text, "%s[provenance]\nnote=x\n %s123\n", MINIMAL, value);
    parse_bad(text, "x.ini:13: longer than 197 bytes when indented by 4");
}

static void override_bad(const char *one, const char *two, const char *message)
{
    const char *const overrides[] = {one, two};
    struct fe_profile p;
    struct fe_err err;
    assert_int_equal(parse_with(&p, MINIMAL, overrides, two ? 2 : 1, &err), -EINVAL);
    assert_string_equal(err.text, message);
}

static void test_parse_overrides(void **state)
{
    static const char *const good[] = {"nand.tR= 5us/6us ", "ftl.op=12.5%", "device.model=a = b"};
    static const char *const completing[] = {"ftl.type=page"};
    struct fe_profile p;
    struct fe_err err;
    (void)state;
    assert_int_equal(parse_with(&p, MINIMAL, good, 3, &err), 0);
    assert_value(&p, "nand.tR", "5us/6us");
    assert_value(&p, "ftl.op", "12.5%");
    assert_value(&p, "device.model", "a = b");
    fe_profile_fini(&p);

    /* What the file lacks an override can give. */
    char *text = strdup(MINIMAL);
    *strstr(text, "[ftl]") = '\0';
    assert_int_equal(parse_with(&p, text, completing, 1, &err), 0);
    fe_profile_fini(&p);
    free(text);

    override_bad("ftl.op=5%", "ftl.op=6%",
                 "ftl.op=6%: ftl.op is given twice, first as ftl.op=5%");
    override_bad("ftl.op", NULL, "ftl.op: is not SECTION.KEY=VALUE");
    override_bad("=5", NULL, "=5: is not SECTION.KEY=VALUE");
    override_bad("", NULL, ": is not SECTION.KEY=VALUE");
    override_bad("ftl.opp=5%", NULL,
                 "ftl.opp=5%: unknown key ftl.opp; did you mean ftl.op?");
    override_bad("op=5%", NULL, "op=5%: unknown key op; op belongs to [ftl]");
    override_bad("provenance.device=x", NULL,
                 "provenance.device=x: unknown key provenance.device; [provenance] has no keys "
                 "yet");
    override_bad("ftl.op=5", NULL,
                 "ftl.op=5: has no unit (%); allowed: 0% to 1000%");
    override_bad("nand.tR=1us/2us/3us", NULL,
                 "nand.tR=1us/2us/3us: has 3 values, nand.cell = mlc takes one or two");
    override_bad("nand.cell=slc", NULL,
                 "x.ini:7: nand.tPROG = 300us/1200us: has 2 values, nand.cell = slc takes one");
    override_bad("device.capacity=12345", NULL,
                 "device.capacity=12345: is not a multiple of 512; allowed: 512 to 16T, a multiple "
                 "of 512, or auto");
    override_bad("ftl.op=7%\nforged: line", NULL,
                 "ftl.op=7%?forged: line: has an unknown unit \"%?forged: line\" (known: %); "
                 "allowed: 0% to 1000%");
}

/* The longest name that is looked for has 63 bytes. */
static void test_parse_overrides_with_long_keys(void **state)
{
    struct fe_profile p;
    struct fe_err err;
    char text[80];
    const char *one[] = {text};
    (void)state;
    for (int n = 60; n < 70; n++) {
        memset(text, 'x', sizeof text);
        memcpy(text, "ftl.", 4);
        memcpy(text + n, "=1", 3);
        assert_int_equal(parse_with(&p, MINIMAL, one, 1, &err), -EINVAL);
        if (n < 64)
            assert_non_null(strstr(err.text, "unknown key"));
        else
            assert_non_null(strstr(err.text, "is not SECTION.KEY=VALUE"));
    }
}

static void test_parse_long_names_leave_room_for_the_message(void **state)
{
    char name[3000];
    struct fe_profile p;
    struct fe_err err = {""};
    (void)state;
    memset(name, 'd', sizeof name);
    strcpy(name + sizeof name - 10, "/name.ini");
    assert_int_equal(fe_profile_parse(&p, name, "[nand]\ncel=5\n", 13, NULL, 0, &err), -EINVAL);
    assert_memory_equal(err.text, "...ddd", 6);
    assert_non_null(strstr(err.text,
                           "d/name.ini:2: unknown key nand.cel; did you mean nand.cell?"));
    assert_int_equal(fe_profile_parse(&p, name, MINIMAL, strlen(MINIMAL), NULL, 0, &err), 0);
    assert_string_equal(p.name, "name");
    fe_profile_fini(&p);
}

/* Whatever the text is: it is a profile that survives show, or there is a message with a
 * place in it. */
static void try_any(const char *text, size_t len)
{
    struct fe_profile p;
    struct fe_err err = {""};
    int r = fe_profile_parse(&p, "x.ini", text, len, NULL, 0, &err);
    if (r == 0) {
        check_fixpoint(&p);
        fe_profile_fini(&p);
    } else {
        assert_int_equal(r, -EINVAL);
        assert_memory_equal(err.text, "x.ini:", 6);
        assert_true(err.text[6] >= '1' && err.text[6] <= '9');
        assert_null(strchr(err.text, '\n'));
    }
}

static void test_parse_survives_mutations(void **state)
{
    static const char base[] = MINIMAL "[device]\ncapacity = 16M\n[link]\ntype = usb-hs\n"
                                       "[provenance]\ndevice = somewhere\n  more of it ; comment\n"
                                       "nand.tR = here\n[fidelity]\na = hdparm-t | 3 MB/s | 5%\n";
    static const char alphabet[] = "\n\n\r\t  =:;#[]/.|%0159KMGuns\"\\\x00\xff\xc3";
    struct ft_rand rand = {.seed = 21};
    (void)state;
    for (int round = 0; round < 20000; round++) {
        char text[2 * sizeof base];
        size_t len = sizeof base - 1, n = 1 + ft_below(&rand, 4);
        memcpy(text, base, len);
        for (size_t i = 0; i < n; i++) {
            size_t at = ft_below(&rand, len), cut = ft_below(&rand, 12);
            switch (ft_below(&rand, 4)) {
            case 0:
                text[at] = alphabet[ft_below(&rand, sizeof alphabet - 1)];
                break;
            case 1: /* cut */
                cut = cut > len - at ? len - at : cut;
                memmove(text + at, text + at + cut, len - at - cut);
                len -= cut;
                break;
            case 2: /* insert */
                memmove(text + at + 1, text + at, len - at);
                text[at] = alphabet[ft_below(&rand, sizeof alphabet - 1)];
                len++;
                break;
            default: /* move a piece */
                cut = cut > len - at ? len - at : cut;
                memmove(text + ft_below(&rand, len - cut + 1), text + at, cut);
            }
            if (len == 0)
                break;
        }
        char *exact = malloc(len ? len : 1); /* so that a byte too far is found */
        memcpy(exact, text, len);
        try_any(exact, len);
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_spells_out_every_default),
        cmocka_unit_test(test_parse_link_type_sets_defaults),
        cmocka_unit_test(test_parse_given_keys_beat_derived_ones),
        cmocka_unit_test(test_parse_chip_follows_capacity),
        cmocka_unit_test(test_parse_takes_what_editors_write),
        cmocka_unit_test(test_parse_names_line_and_mistake),
        cmocka_unit_test(test_parse_checks_keys_against_each_other),
        cmocka_unit_test(test_parse_every_missing_key_is_named),
        cmocka_unit_test(test_parse_nul_bytes_are_refused),
        cmocka_unit_test(test_parse_no_line_is_split),
        cmocka_unit_test(test_parse_overrides),
        cmocka_unit_test(test_parse_overrides_with_long_keys),
        cmocka_unit_test(test_parse_long_names_leave_room_for_the_message),
        cmocka_unit_test(test_parse_survives_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

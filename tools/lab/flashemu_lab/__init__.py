# SPDX-License-Identifier: BSD-3-Clause
"""flashemu-lab: experiments with emulated flash devices.

The modules, each of which uses only those above it:

    errors      mistakes of users, and quantities as text
    recordings  what a filesystem asked of a device
    layout      where filesystems lie on a device
    run         one run as a value, and its key
    worker      what another machine executes
    tool        the C program
    signals     Ctrl-C
    standard    standard output, and what a locale cannot write
    store       results by key
    engine      executes runs
    cluster     executes runs on many machines
    measure     numbers from a result
    sampled     how far replays are from a kernel
    thinking    how much it matters that the host of a replay takes no time
    lines       which line of a TOML file a key is in
    spec        an experiment file as a value
    plan        the runs of an experiment
    effects     which factor matters how much
    theory      what theory says about a run
    evidence    what is known about the sets of an ensemble
    table       an experiment with its results; CSV and JSON
    choose      which level comes out best, and what the others cost
    way         what each factor adds on the way from one combination to another
    spread      what an ensemble says
    decide      which measurement would decide about a claim
    conclude    sentences that are computed from a table
    svg, charts, figures, page      what a browser shows
    recipes     how recordings are made
    output      the files of a result
    machine     the virtual machine, and servers for it
    record      makes recordings in the virtual machine
    progress    how far a command is
    sweep       the experiment of a command line
    paste       lines that make a partition and a filesystem
    advise, advise_fs       the experiments behind advice
    full        runs of an experiment through a real kernel
    sample      draws replays to compare with a kernel
    trials      measurements that somebody could make on the real device
    ensemble    sets of parameters that fit the published figures
    crash, crashed      power cuts, and what they have left
    measurement, readers, fio, tables, importing    what real devices do, from other programs
    rests       what a command takes for what it leaves of a page
    target, merges, probing     the same, measured
    crossings, pairs, pushed_pairs, gaps, firsts, unit_size     the unit
    opened, flashbench_o        how many units are open
    habits, forged, findings, probe, datasheet      the rest of it
    modelled, curves, in_turn, probed, clues    what a measurement says about a device
    compare, descent, search, fitting   the device that comes nearest to it
    fitted      its profile and its page
    refining, refined       numbers of a profile that come nearer, and what is written then
    relatives, related      a card of today, which begins as a shipped one, and what is written then
    measuring   the commands about real devices
    shipped, show, complete, cli        what a shell calls
"""

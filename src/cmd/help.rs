//! The pages of `--help`: under which heading an option of a command with many stands, and examples.

use clap::Command;

/// The help of a command.
struct Page {
    command: &'static str,
    /// Headings in their order, each with the names of its options; none where options are few.
    headings: &'static [(&'static str, &'static [&'static str])],
    /// Words behind `pairforge`, and what they are for.
    examples: &'static [(&'static str, &'static str)],
}

const PROBLEM: &str = "Problem";
const ACCURACY: &str = "Accuracy";
const PLACE: &str = "Where it runs";
const ENGINE: &str = "Engine, where pipelines run";
const PREDICTION: &str = "Prediction for a board";
const OUTPUT: &str = "Output";

static PAGES: &[Page] = &[
    Page {
        command: "board",
        headings: &[],
        examples: &[(
            "board new mine --like ulx3s",
            "a folder in which the pins of a board of your own are to be filled in",
        )],
    },
    Page {
        command: "board-sim",
        headings: &[],
        examples: &[
            ("board-sim ulx3s out", "a folder of `build` or `synth`, behind a pseudo-terminal"),
            ("board-sim ulx3s out --fault flip:1e-4 --once", "on a bad line, until the host closes it"),
            ("board-sim colorlight-i9 out --ethernet", "behind a UDP port"),
        ],
    },
    Page {
        command: "build",
        headings: &[
            (ENGINE, &["pipelines", "groups", "filters", "ii", "fit", "jmem", "stream", "target", "freq", "dsp"]),
            (
                OUTPUT,
                &[
                    "output",
                    "prefix",
                    "testbench",
                    "bare",
                    "enable",
                    "handshake",
                    "language",
                    "split",
                    "project",
                    "wrapper",
                    "axi_bits",
                    "ip_xact",
                    "wave",
                    "report",
                    "quiet",
                ],
            ),
        ],
        examples: &[
            ("build p2p -o out", "8 pipelines and the engine around them, in one Verilog file"),
            ("build p2p -o out --pipelines 16 --groups 4 --stream 128 --target xc7 --freq 200", "for a faster device"),
            ("build p2p -o out --ii 8 --pipelines 1", "a pair every 8 clocks, in less area"),
            ("build p2p -o out --split --project vivado --wrapper vhdl --ip-xact", "for a design of your own"),
            ("build p2p -o out --testbench", "with a testbench for any simulator"),
            ("build p2p -o out --bare", "the pipeline alone"),
            ("build p2p -o out --bare --language vhdl --enable", "the same in VHDL, with a clock enable"),
            ("build p2p -o out --bare --handshake", "with ready and valid at both ends"),
            ("build p2p -o out --report out.html", "and a page with its drawing and the cost of each line"),
        ],
    },
    Page {
        command: "check",
        headings: &[],
        examples: &[("check my.pg2 other.pg2", "every mistake of both, with its place and a remedy")],
    },
    Page {
        command: "deploy",
        headings: &[],
        examples: &[
            ("deploy out", "the bitstream of a folder of `synth`"),
            ("deploy out --dry-run", "the command that would load it"),
        ],
    },
    Page {
        command: "completions",
        headings: &[],
        examples: &[
            ("completions bash", "for a file ~/.local/share/bash-completion/completions/pairforge"),
            ("completions zsh", "for a file _pairforge in a folder on zsh's `fpath`"),
        ],
    },
    Page {
        command: "doctor",
        headings: &[],
        examples: &[
            ("doctor", "what is there, and how to get what is not"),
            ("doctor --scan", "with the boards that answer at serial ports and on the network"),
            ("doctor --json doctor.json", "for a report of a mistake"),
        ],
    },
    Page {
        command: "explain",
        headings: &[
            (ENGINE, &["target", "freq", "dsp", "filters", "ii", "fit", "pipelines", "stream"]),
            ("Error bounds", &["error", "gappa"]),
            ("Prediction", &["roofline", "n", "card"]),
            (OUTPUT, &["lines", "svg", "json", "quiet"]),
        ],
        examples: &[
            ("explain p2p --lines --svg p2p.svg", "the schedule with its source lines, and a figure of it"),
            ("explain p2p --target ecp5 --freq 75", "for a device and a clock"),
            ("explain p2p --error", "how far results can be from real numbers, for every input"),
            ("explain p2p --roofline --n 10000,100000", "times on GPUs, boards and engines"),
            ("explain PG0012", "what a diagnostic means"),
        ],
    },
    Page {
        command: "explore",
        headings: &[
            (PROBLEM, &["i", "j", "vary", "tol", "proven", "keep", "params"]),
            (PLACE, &["backend"]),
            (ENGINE, &["target", "freq", "dsp"]),
            (OUTPUT, &["output", "json", "report", "quiet"]),
        ],
        examples: &[
            (
                "explore p2p --i i.csv --j j.csv --param eps2=0 --vary float25.16=6..20 -o error.svg",
                "error against cost",
            ),
            (
                "explore p2p --i i.csv --j j.csv --param eps2=0 --vary gout=8..24:4 --backend cycle --target ecp5",
                "of one output, by the Verilog",
            ),
            (
                "explore p2p --tol 1e-4 --param eps2=0 --target ecp5 -o p2p_4.pg2",
                "the cheapest formats for an error, each value's apart",
            ),
        ],
    },
    Page {
        command: "prove",
        headings: &[
            ("Search", &["seconds", "samples"]),
            (ENGINE, &["target", "freq", "dsp"]),
            (OUTPUT, &["json", "quiet"]),
        ],
        examples: &[
            (
                "prove p2p_small --json proofs.json",
                "each operator and the pipeline; Z3 has 20 seconds for each operator",
            ),
            (
                "prove k.pg2 --target ecp5 --freq 100 --seconds 600",
                "as `build` makes it for that clock, with more time",
            ),
        ],
    },
    Page {
        command: "run",
        headings: &[
            (PROBLEM, &["i", "j", "params", "cells", "periodic", "segments"]),
            (PLACE, &["backend", "predict"]),
            (ENGINE, &["pipelines", "groups", "filters", "ii"]),
            (OUTPUT, &["output", "raw", "flags", "profile", "trace", "json", "report", "quiet"]),
        ],
        examples: &[
            ("run p2p --i i.csv --j j.csv --param eps2=0", "all pairs, to the bit; results on standard output"),
            ("run my.pg2 --i i.csv --j j.csv --cells 0.25 --periodic 1", "pairs within a cut-off, in a periodic box"),
            ("run p2p --i i.csv --j j.csv --param eps2=0 --backend cpu", "without rounding"),
            (
                "run p2p --i i.csv --j j.csv --param eps2=0 --backend cycle --pipelines 4 --trace w.fst",
                "the Verilog, with waveforms",
            ),
            (
                "run p2p --i i.csv --j j.csv --param eps2=0 -o out.csv --flags --json stats.json",
                "files, and what raised a flag",
            ),
            (
                "run lj.pg2 --i i.csv --j j.csv --cells 0.1 --filters 9 --predict ulx3s",
                "the time on a board that is not there",
            ),
        ],
    },
    Page {
        command: "synth",
        headings: &[
            ("Where it goes", &["board", "device", "target", "area_only", "ethernet"]),
            (ENGINE, &["pipelines", "groups", "filters", "ii", "fit", "jmem", "stream", "dsp"]),
            ("Clock and placement", &["freq", "schedule", "seed", "seeds"]),
            (OUTPUT, &["output", "report", "quiet"]),
        ],
        examples: &[
            ("synth p2p --board ulx3s -o out", "a bitstream"),
            ("synth p2p --area-only --target ecp5 -o out", "the area of a lane"),
            (
                "synth p2p m2l_2 --board colorlight-i9 --ethernet --pipelines 2,1 --ii 1,32 -o out",
                "two kernels behind Ethernet",
            ),
            ("synth p2p --device ecp5-85 --pipelines 8 --freq 70 --seeds 8 -o out", "the best of 8 placements"),
        ],
    },
    Page {
        command: "fmm",
        headings: &[
            (
                PROBLEM,
                &[
                    "n",
                    "dist",
                    "charge",
                    "seed",
                    "particles",
                    "targets",
                    "delimiter",
                    "p2p",
                    "params",
                    "eps",
                    "coincident",
                    "near_only",
                    "periodic",
                    "periodic_axes",
                ],
            ),
            (ACCURACY, &["tol", "order", "expansion", "theta", "precision", "lower_beyond", "check", "budget"]),
            (PLACE, &["backend", "threads", "ranks", "gpus", "translations", "leaf", "enlarge", "tune"]),
            (ENGINE, &["m2l", "pipelines", "groups", "ii", "jmem", "stream"]),
            (PREDICTION, &["predict", "synth", "filters", "freq", "baud", "ethernet", "turnaround"]),
            (OUTPUT, &["output", "at_sources", "hessian", "json", "report", "save_particles", "quiet"]),
        ],
        examples: &[
            ("fmm --n 100000 --check 1000", "random particles, natively, with the errors"),
            ("fmm --particles p.csv --tol 1e-6 -o field.csv", "for a wanted error"),
            (
                "fmm --particles p.npy --p2p p2p_yukawa --param kappa=4 --periodic 1",
                "another kernel, in a periodic box",
            ),
            ("fmm --n 10000000 --backend cuda --precision f32 --order 5", "on a GPU"),
            ("fmm --n 10000 --backend cycle --stream 64 --pipelines 16", "P2P and M2L clock by clock in the Verilog"),
            ("fmm --n 100000 --predict colorlight-i9", "the time on a board that is not there"),
            ("fmm --n 20000 --hessian --json stats.json --report report.html", "second derivatives, and what it took"),
        ],
    },
    Page {
        command: "nbody",
        headings: &[
            (
                PROBLEM,
                &[
                    "model",
                    "n",
                    "seed",
                    "w0",
                    "virial",
                    "galaxy",
                    "mass_ratio",
                    "separation",
                    "pericentre",
                    "bodies",
                    "delimiter",
                    "eps",
                    "p2p",
                    "params",
                ],
            ),
            ("Integration", &["integrator", "step", "eta", "until", "resume"]),
            (ACCURACY, &["tol", "order", "expansion", "theta", "precision", "direct"]),
            (PLACE, &["backend", "compare", "threads", "leaf"]),
            (ENGINE, &["pipelines", "groups", "ii", "jmem", "stream"]),
            (
                OUTPUT,
                &[
                    "output",
                    "snapshot_every",
                    "snapshots",
                    "log_every",
                    "restart_every",
                    "unit_length",
                    "unit_mass",
                    "quiet",
                ],
            ),
        ],
        examples: &[
            ("nbody --n 10000 --until 10 -o out", "a Plummer sphere, with its energies and snapshots"),
            ("nbody --resume out --until 20", "the same run, from where it ended or was interrupted"),
            ("nbody --n 1000 --integrator hermite --step 0.125 -o hermite", "block time steps, for close encounters"),
            ("nbody --n 10000 --compare emulator -o two", "pipelines beside native code"),
            ("nbody --model king --w0 7 --n 100000 --tol 1e-4 -o king", "forces to a wanted error"),
            (
                "nbody --model galaxies --galaxy king --snapshot-every 64 -o merger",
                "two galaxies, with a series of snapshots",
            ),
            (
                "nbody --n 1000 --direct --backend emulator --pipelines 16 -o exact",
                "all pairs, by the bits of pipelines",
            ),
        ],
    },
    Page {
        command: "fmt",
        headings: &[],
        examples: &[
            ("fmt my.pg2", "rewrites the file"),
            ("fmt --check my.pg2", "for continuous integration: status 1 where it would change"),
        ],
    },
    Page {
        command: "gen",
        headings: &[],
        examples: &[("gen m2l --order 4 -o m2l_p4.pg2", "the M2L kernel of order 4")],
    },
    Page {
        command: "import",
        headings: &[],
        examples: &[("import fpcore rosa.fpcore --core doppler1", "a core of FPBench as PG2")],
    },
    Page {
        command: "list",
        headings: &[],
        examples: &[
            ("list kernels", "the shipped kernels"),
            ("list boards --scan", "the boards that the network answers for"),
        ],
    },
    Page {
        command: "lsp",
        headings: &[],
        examples: &[("lsp", "what an editor starts; it speaks the language server protocol on its standard streams")],
    },
    Page {
        command: "man",
        headings: &[],
        examples: &[("man -o ~/.local/share/man/man1", "pages that `man pairforge-fmm` finds")],
    },
    Page {
        command: "new",
        headings: &[],
        examples: &[("new springs", "a folder with a kernel, its test and a Makefile")],
    },
    Page {
        command: "fmm2",
        headings: &[
            (
                PROBLEM,
                &[
                    "kernel",
                    "n",
                    "dist",
                    "charge",
                    "complex",
                    "seed",
                    "particles",
                    "targets",
                    "delimiter",
                    "p2p",
                    "params",
                ],
            ),
            (ACCURACY, &["tol", "order", "theta", "precision", "check"]),
            (PLACE, &["backend", "threads", "leaf"]),
            (ENGINE, &["pipelines", "groups", "ii", "jmem", "stream"]),
            (PREDICTION, &["predict", "synth", "filters", "freq", "baud", "ethernet", "turnaround"]),
            (OUTPUT, &["output", "json", "report", "save_particles", "quiet"]),
        ],
        examples: &[
            ("fmm2 --n 100000 --check 1000", "random points, natively, with the errors"),
            ("fmm2 --kernel log --particles p.csv --tol 1e-9 -o field.csv", "logarithms, for a wanted error"),
            ("fmm2 --n 1000000 --backend cuda --leaf 45", "on a GPU"),
            ("fmm2 --n 10000 --backend emulator --pipelines 16", "P2P by pipelines, to the bit"),
            ("fmm2 --n 100000 --predict ulx3s --pipelines 4", "the time on a board that is not there"),
            ("fmm2 --n 20000 --json stats.json --report report.html", "what it took"),
        ],
    },
    Page {
        command: "bench",
        headings: &[
            ("Measurement", &["repeat", "n", "order", "gpus", "in_place", "one_depth", "n_max", "gpu", "from"]),
            (OUTPUT, &["json", "svg", "output"]),
        ],
        examples: &[
            ("bench paper -o figures --n-max 100000", "the paper's figures again, at small sizes"),
            ("bench fmm --repeat 3", "seconds of a native FMM of 1e6 particles"),
            ("bench card --gpus 2 --json card.json", "all stages on one GPU and on two"),
            ("bench cuda --svg cuda.svg", "GPU, CPU and direct summation by size"),
        ],
    },
];

/// A command with its headings and examples, where it has a page. What it says of its options stays where they are defined.
pub fn dressed(command: Command) -> Command {
    let Some(page) = PAGES.iter().find(|page| page.command == command.get_name()) else { return command };
    let all = page.headings.iter().flat_map(|(heading, options)| options.iter().map(move |name| (*heading, *name)));
    // What is changed goes to the end, so that headings come in the order of the page.
    let under = |command: Command, (order, (heading, name)): (usize, (&'static str, &str))| {
        command.mut_arg(name, |arg| arg.help_heading(heading).display_order(order))
    };
    let command = all.enumerate().fold(command, under);
    let short = format!("Examples and details: pairforge {} --help", page.command);
    command.after_help(short).after_long_help(page.examples())
}

/// Examples of a command: words behind `pairforge`, and what they are for.
pub fn examples(command: &str) -> &'static [(&'static str, &'static str)] {
    PAGES.iter().find(|page| page.command == command).map_or(&[], |page| page.examples)
}

impl Page {
    fn examples(&self) -> String {
        let one = |(words, what): &(&str, &str)| format!("\n  # {what}\n  pairforge {words}\n");
        "Examples:\n".to_string() + &self.examples.iter().map(one).collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::parser::ValueSource;
    use clap::{Arg, ArgMatches};

    /// A command with more options than this has headings.
    const FEW: usize = 12;

    fn dressed_all() -> Command {
        crate::command().mut_subcommands(dressed)
    }

    fn options(command: &Command) -> Vec<&Arg> {
        command.get_arguments().filter(|arg| !arg.is_positional()).collect()
    }

    /// The options that a command line gives.
    fn given(words: &str) -> Vec<String> {
        let found = dressed_all().try_get_matches_from(["pairforge"].into_iter().chain(words.split(' ')));
        let found = found.unwrap_or_else(|e| panic!("{words}: {e}"));
        let (_, of): (&str, &ArgMatches) = found.subcommand().expect("an example has a command");
        let is_given = |id: &&clap::Id| of.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        of.ids().filter(is_given).map(|id| id.to_string()).collect()
    }

    #[test]
    fn every_option_of_a_command_with_many_has_a_heading() {
        for command in dressed_all().get_subcommands() {
            let options = options(command);
            let is_headed = |page: &Page| page.command == command.get_name() && !page.headings.is_empty();
            if options.len() <= FEW && !PAGES.iter().any(is_headed) {
                continue;
            }
            for option in options {
                let (name, id) = (command.get_name(), option.get_id());
                assert!(option.get_help_heading().is_some(), "give `{id}` of `{name}` a heading in src/cmd/help.rs");
            }
        }
    }

    #[test]
    fn every_command_has_an_example() {
        for command in crate::command().get_subcommands() {
            assert!(!examples(command.get_name()).is_empty(), "give `{}` one in src/cmd/help.rs", command.get_name());
        }
    }

    #[test]
    fn every_heading_is_one_of_options_that_there_are_and_has_an_example() {
        let command = dressed_all();
        for page in PAGES {
            let of = command.find_subcommand(page.command).expect("a page is that of a command");
            let examples: Vec<Vec<String>> = page.examples.iter().map(|(words, _)| given(words)).collect();
            for (heading, names) in page.headings {
                for name in *names {
                    assert!(options(of).iter().any(|o| o.get_id() == *name), "{} has no option {name}", page.command);
                }
                let is_shown = examples.iter().flatten().any(|id| names.contains(&id.as_str()));
                assert!(is_shown, "no example of {} is one of `{heading}`", page.command);
            }
        }
    }
}

//! `bertha-bench passes`: what rewriting a stack costs, and that what it leaves costs what it would by hand.

use bertha_bench::compile_time::{Program, sixteen_layers};
use bertha_bench::instructions::Counter;
use bertha_bench::overhead::Call;
use bertha_bench::passes::{Case, PATHS, Stack};
use bertha_bench::report::{self, Budget, Report};
use bertha_bench::{Error, ErrorKind};
use clap::Args;

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Calls that callgrind counts; 0 leaves the count out
    #[arg(long, default_value_t = 20_000)]
    counted: u64,
    /// Leave the compile time out
    #[arg(long)]
    without_compile_time: bool,
}

/// Instructions after passes, in those of the stack written by hand.
const OPTIMISED: Budget = Budget::AtMost(1.01);

/// Passes that match nowhere add nothing. A tenth is what two counts of one program differ by at most.
const UNMATCHED: Budget = Budget::AtMost(0.1);

/// Seconds that four passes may add to a build.
const COMPILE_TIME: Budget = Budget::AtMost(1.0);

pub(crate) fn run(options: &Options) -> Result<Report, Error> {
    let mut report = Report::new("passes");
    if options.counted > 0 {
        match Counter::of_this_program()?.per_iteration("count", 1000) {
            Err(error) if error.kind() == ErrorKind::NoValgrind => {
                report.instructions("instructions per message", Err(error))?;
            }
            _ => instructions(options, &mut report)?,
        }
    }
    if !options.without_compile_time {
        compile_time(&mut report)?;
    }
    Ok(report)
}

fn instructions(options: &Options, report: &mut Report) -> Result<(), Error> {
    let counter = Counter::of_this_program()?;
    for (path, call) in PATHS.into_iter().flat_map(|path| Call::ALL.map(|call| (path, call))) {
        let per_message = |stack| {
            let count = counter.per_iteration(&Case { stack, path, call }.to_string(), options.counted)?;
            Ok::<f64, Error>(count / call.messages() as f64)
        };
        let [written, unmatched, optimised, by_hand] = Stack::ALL.map(per_message);
        let (written, unmatched, optimised, by_hand) = (written?, unmatched?, optimised?, by_hand?);

        let name = |what: &str| format!("{}, {}, {what}", path.name(), call.name());
        report.figure(name("8 layers as written, both ends, per message"), written, "instructions");
        report.figure(name("1 layer by hand"), by_hand, "instructions");
        report.figure(name("8 layers optimised to 1"), optimised, "instructions");
        report.bounded(name("optimised against by hand"), optimised / by_hand, "x", OPTIMISED);
        report.bounded(
            name("what unmatched passes add"),
            hundredths(unmatched - written),
            "instructions",
            UNMATCHED,
        );
    }
    Ok(())
}

/// What differs between two runs of the counter is some hundred instructions in all its iterations.
fn hundredths(instructions: f64) -> f64 {
    (instructions * 100.0).round() / 100.0 + 0.0
}

fn compile_time(report: &mut Report) -> Result<(), Error> {
    let program = Program::in_directory(report::directory().join("compile-time"))?;
    let without = program.build_time(&sixteen_layers(false))?.as_secs_f64();
    let with = program.build_time(&sixteen_layers(true))?.as_secs_f64();
    report.figure("build of a generic client, 16 different layers", without, "s");
    report.figure("the same, rewritten by 4 passes", with, "s");
    report.bounded("what the passes add", with - without, "s", COMPILE_TIME);
    Ok(())
}

//! `bertha-bench overhead`: what a Chunnel that does nothing costs.

use bertha_allocations::in_thread;
use bertha_bench::alternate::{self, alternate};
use bertha_bench::compile_time::{Program, client};
use bertha_bench::instructions::Counter;
use bertha_bench::overhead::{Call, Case, DEPTHS, Layer, Path, Repeat};
use bertha_bench::report::{self, Budget, Report};
use bertha_bench::statistics::ratio_of_medians;
use bertha_bench::{Error, ErrorKind};
use clap::Args;
use std::cell::RefCell;
use std::time::Instant;

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Calls that callgrind counts; 0 leaves the count out
    #[arg(long, default_value_t = 20_000)]
    counted: u64,
    /// Calls whose allocations are counted
    #[arg(long, default_value_t = 10_000)]
    allocating: u64,
    /// Pairs of samples for each ratio of throughputs; 0 leaves the ratios out
    #[arg(long, default_value_t = alternate::FEWEST_PAIRS)]
    pairs: usize,
    /// Messages of a sample
    #[arg(long, default_value_t = 20_000)]
    messages: u64,
    /// Leave the compile time out
    #[arg(long)]
    without_compile_time: bool,
}

/// What a layer may cost that awaits the one below it, in instructions per message: by `map_output`, as a layer does that has to be
/// cheap. In an `async fn` it is the compiler's choice; those rows show what `after` saves.
const AWAITING: Budget = Budget::AtMost(8.0);

/// No message may cost an allocation.
const NO_ALLOCATION: Budget = Budget::AtMost(0.0);

/// A layer that passes calls through may cost nothing. The compiler may still arrange the same code a little otherwise: an
/// instruction more or less for a burst of sixteen, whatever the depth.
const NO_INSTRUCTION: Budget = Budget::AtMost(0.1);

/// The depths whose compile time is measured, and the budget of the last in seconds.
const COMPILED: [usize; 3] = [1, 16, 31];
const COMPILE_TIME: Budget = Budget::AtMost(2.0);

pub(crate) fn run(options: &Options) -> Result<Report, Error> {
    let mut report = Report::new("overhead");
    allocations(options, &mut report)?;
    if options.counted > 0 {
        match Counter::of_this_program()?.per_iteration("count", 1000) {
            Err(error) if error.kind() == ErrorKind::NoValgrind => {
                report.instructions("instructions per message and layer", Err(error))?;
            }
            _ => instructions(options, &mut report)?,
        }
    }
    if options.pairs > 0 {
        throughput(options, &mut report)?;
    }
    if !options.without_compile_time {
        compile_time(&mut report)?;
    }
    Ok(report)
}

/// Allocations of both ends: a message costs none at any depth.
fn allocations(options: &Options, report: &mut Report) -> Result<(), Error> {
    for case in Case::all().filter(|case| matches!(case.call, Call::Send | Call::SendBatch)) {
        let mut repeat = case.open()?;
        repeat(options.allocating)?;
        let (outcome, count) = in_thread(|| repeat(options.allocating));
        outcome?;
        let messages = options.allocating as f64 * case.call.messages() as f64;
        report.bounded(
            format!("{}, allocations per message", shown(case)),
            count as f64 / messages,
            "allocations",
            NO_ALLOCATION,
        );
    }
    Ok(())
}

fn instructions(options: &Options, report: &mut Report) -> Result<(), Error> {
    let counter = Counter::of_this_program()?;
    let per_call = |case: Case| counter.per_iteration(&case.to_string(), options.counted);
    for path in Path::ALL {
        for call in Call::ALL {
            let bare = Case { layer: Layer::PassThrough, depth: 0, path, call };
            let without = per_call(bare)?;
            let messages = call.messages() as f64;
            report.figure(
                format!("{}, both ends, per message", shown(bare)),
                without / messages,
                "instructions",
            );
            for case in Case::all().filter(|case| (case.path, case.call) == (path, call) && case.depth > 0) {
                let per_layer = (per_call(case)? - without) / case.depth as f64;
                // A layer awaits once in a burst, so that this says more than its share in one message.
                if case.layer != Layer::PassThrough && call.messages() > 1 {
                    let name = format!("{}, per call and layer", shown(case));
                    report.figure(name, rounded(per_layer), "instructions");
                }
                let name = format!("{}, per message and layer", shown(case));
                let instructions = rounded(per_layer / messages);
                match case.layer {
                    Layer::PassThrough => report.bounded(name, instructions, "instructions", NO_INSTRUCTION),
                    Layer::Following => report.bounded(name, instructions, "instructions", AWAITING),
                    Layer::Awaiting => report.figure(name, instructions, "instructions"),
                }
            }
        }
    }
    Ok(())
}

/// To hundredths: what differs between two runs of the counter is some hundred instructions in all its iterations.
fn rounded(instructions: f64) -> f64 {
    (instructions * 100.0).round() / 100.0 + 0.0
}

fn throughput(options: &Options, report: &mut Report) -> Result<(), Error> {
    for path in Path::ALL {
        for depth in DEPTHS.into_iter().filter(|depth| *depth > 0) {
            let case = |depth| Case { layer: Layer::PassThrough, depth, path, call: Call::Send };
            let (stack, bare) = (RefCell::new(case(depth).open()?), RefCell::new(case(0).open()?));
            let sample = |repeat: &RefCell<Repeat>| {
                let started = Instant::now();
                repeat.borrow_mut()(options.messages)?;
                Ok::<f64, Error>(options.messages as f64 / started.elapsed().as_secs_f64())
            };
            let paired = alternate(options.pairs, || sample(&bare), || sample(&stack))?;
            let swapped: Vec<_> = paired.ab.iter().map(|(bare, stack)| (*stack, *bare)).collect();
            let name = format!("{}, throughput", shown(case(depth)));
            if let Some(ratio) = ratio_of_medians(&swapped, 0) {
                // One budget for each path: of many true ratios of one, a few intervals would miss it by chance.
                let budget = (depth == 16).then_some(Budget::AtLeast(1.0));
                report.ratio(&format!("{name} against none"), &ratio, budget);
            }
            if let Some(ratio) = ratio_of_medians(&paired.aa_by(|sample| *sample), 0) {
                report.ratio(&format!("{name} of none against itself"), &ratio, None);
            }
        }
    }
    Ok(())
}

fn compile_time(report: &mut Report) -> Result<(), Error> {
    let program = Program::in_directory(report::directory().join("compile-time"))?;
    for layers in COMPILED {
        let seconds = program.build_time(&client(layers))?.as_secs_f64();
        let layers_in_words = if layers == 1 { "1 layer".to_owned() } else { format!("{layers} layers") };
        let name = format!("build of a generic client, {layers_in_words}");
        if Some(&layers) == COMPILED.last() {
            report.bounded(name, seconds, "s", COMPILE_TIME);
        } else {
            report.figure(name, seconds, "s");
        }
    }
    Ok(())
}

/// As in `UDP, negotiated, send, 16 layers`.
fn shown(case: Case) -> String {
    let kind = match case.layer {
        Layer::PassThrough => "",
        Layer::Following => ", awaiting by `map_output`",
        Layer::Awaiting => ", awaiting in an `async fn`",
    };
    let layers = if case.depth == 1 { "layer" } else { "layers" };
    format!("{}, {}, {} {layers}{kind}", case.path.name(), case.call.name(), case.depth)
}

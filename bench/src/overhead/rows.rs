//! The rows of layers that do nothing.

use super::{Call, Case, DEPTHS, Layer, Path, Repeat, qlog, stranger};
use crate::Error;
use crate::compile_time::{Program, client};
use crate::harness::{Counter, Effort, alternate};
use crate::report::{self, Budget, Report};
use bertha_allocations::in_thread;
use std::cell::RefCell;
use std::time::Instant;

/// Budget of a layer that acts on the outcome of the layer below by `map_output`, in instructions per
/// message.
const FOLLOWING: Budget = Budget::AtMost(8.0);

/// Budget of a message's allocations: none.
const NO_ALLOCATION: Budget = Budget::AtMost(0.0);

/// Budget of a layer that passes calls through: no instruction. The compiler may still arrange equal code a
/// little differently: an instruction more or less for a burst of sixteen, at any depth.
const NO_INSTRUCTION: Budget = Budget::AtMost(0.1);

/// Depths whose compile time is measured, and the budget of the last depth in seconds.
const COMPILED: [usize; 3] = [1, 16, 31];
const COMPILE_TIME: Budget = Budget::AtMost(2.0);

/// Measures the rows.
///
/// # Errors
/// Errors of the connections, of the counter and of the compiler.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("overhead");
    allocations(&mut report, effort.pick(10_000, 1_000))?;
    instructions(&mut report, effort.pick(20_000, 2_000), effort.pick(&DEPTHS, &[0, 16]))?;
    stranger::instructions(&mut report, effort.pick(20_000, 2_000))?;
    qlog::instructions(&mut report, effort.pick(5_000, 1_000))?;
    throughput(&mut report, effort)?;
    if effort == Effort::Full {
        compile_time(&mut report)?;
    }
    Ok(report)
}

/// Counts the allocations of both ends: a message costs none at any depth.
fn allocations(report: &mut Report, calls: u64) -> Result<(), Error> {
    for case in Case::all().filter(|case| matches!(case.call, Call::Send | Call::SendBatch)) {
        let mut repeat = case.open()?;
        let mut allocations = |calls| {
            let (outcome, count) = in_thread(|| repeat(calls));
            outcome.map(|()| count)
        };
        // An allocation that a run makes once, for any number of calls, does not belong to a message.
        allocations(calls)?;
        let once = allocations(calls)?;
        let twice = allocations(2 * calls)?;
        let name = format!("{}, allocations per message", shown(case));
        let messages = calls as f64 * case.call.messages() as f64;
        let count = twice.saturating_sub(once) as f64;
        report.bounded(name, count / messages, "allocations", NO_ALLOCATION);
    }
    Ok(())
}

/// Adds the instructions per message, and the instructions that layers of these depths add.
///
/// # Errors
/// Errors of the counter.
pub(crate) fn instructions(report: &mut Report, calls: u64, depths: &[usize]) -> Result<(), Error> {
    let per_call = |case: Case| Counter::of_probe(case.to_string())?.instructions(calls);
    for (path, call) in Path::ALL.into_iter().flat_map(|path| Call::ALL.map(|call| (path, call))) {
        let bare = Case { layer: Layer::PassThrough, depth: 0, path, call };
        let messages = call.messages() as f64;
        let name = format!("{}, both ends, per message", shown(bare));
        let counted = per_call(bare).map(|count| count / messages);
        let Some(without) = report.count(&name, counted)? else { return Ok(()) };
        let cases = Case::all().filter(|case| {
            (case.path, case.call) == (path, call) && case.depth > 0 && depths.contains(&case.depth)
        });
        for case in cases {
            let added = (per_call(case)? / messages - without) / case.depth as f64;
            // Two runs of the counter differ by some hundred instructions in all iterations.
            let added = (added * 100.0).round() / 100.0 + 0.0;
            let name = format!("{}, per message and layer", shown(case));
            match case.layer {
                Layer::PassThrough => report.bounded(name, added, "instructions", NO_INSTRUCTION),
                Layer::Following => report.bounded(name, added, "instructions", FOLLOWING),
            }
        }
    }
    Ok(())
}

fn throughput(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let messages: u64 = effort.pick(20_000, 5_000);
    for path in Path::ALL {
        let case = |depth| Case { layer: Layer::PassThrough, depth, path, call: Call::Send };
        let stack = RefCell::new(case(16).open()?);
        let bare = RefCell::new(case(0).open()?);
        let sample = |repeat: &RefCell<Repeat>| {
            let started = Instant::now();
            repeat.borrow_mut()(messages)?;
            Ok::<f64, Error>(messages as f64 / started.elapsed().as_secs_f64())
        };
        let paired = alternate(effort.pairs(), || sample(&bare), || sample(&stack))?;
        // With a true ratio of one, every other median misses one: so the row has no budget, and instructions
        // decide.
        report.compare(&format!("{}, throughput, to none", shown(case(16))), &paired, |it| *it, None);
    }
    Ok(())
}

fn compile_time(report: &mut Report) -> Result<(), Error> {
    let program = Program::in_directory(report::directory().join("compile-time"))?;
    for layers in COMPILED {
        let seconds = program.build_time(&client(layers))?.as_secs_f64();
        let name = format!("build of a generic client, {layers} layers");
        if Some(&layers) == COMPILED.last() {
            report.bounded(name, seconds, "s", COMPILE_TIME);
        } else {
            report.figure(name, seconds, "s");
        }
    }
    Ok(())
}

/// Returns a description such as `UDP, negotiated, send, 16 layers`.
fn shown(case: Case) -> String {
    let kind = match case.layer {
        Layer::PassThrough => "",
        Layer::Following => ", acting by `map_output`",
    };
    let layers = if case.depth == 1 { "layer" } else { "layers" };
    format!("{}, {}, {} {layers}{kind}", case.path.name(), case.call.name(), case.depth)
}

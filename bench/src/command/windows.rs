//! `bertha-bench windows`: congestion windows over time, as figures and as pictures.

use bertha_bench::report::{self, Budget, Report};
use bertha_bench::windows::{ALGORITHMS, LINKS, Link, Trace, draw, follow};
use bertha_bench::{Error, ErrorKind};
use clap::Args;

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Where chance begins
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// BBR's share of the link, in that of what chance leaves.
const BBR_USES: f64 = 0.9;

/// BBR's queue, in Cubic's.
const BBR_QUEUES: Budget = Budget::AtMost(0.5);

pub(crate) fn run(options: &Options) -> Result<Report, Error> {
    let mut report = Report::new("windows");
    for link in LINKS {
        let mut traces = Vec::new();
        for (name, stack) in ALGORITHMS {
            traces.push((name, follow(stack(), link, options.seed)?));
        }
        state(&mut report, link, &traces);
        write(link, &traces)?;
    }
    Ok(report)
}

fn state(report: &mut Report, link: Link, traces: &[(&str, Trace)]) {
    let milliseconds = |trace: &Trace| trace.queueing().as_secs_f64() * 1e3;
    for (name, trace) in traces {
        let used = format!("{link}: {name} uses");
        match *name {
            "BBR" => {
                let budget = Budget::AtLeast(BBR_USES * (1.0 - link.loss));
                report.bounded(used, trace.utilisation, "of the link", budget);
            }
            _ => report.figure(used, trace.utilisation, "of the link"),
        }
        report.figure(format!("{link}: {name} queues"), milliseconds(trace), "ms");
    }
    // Where chance keeps Cubic from filling the queue there is none to halve.
    if let ([_, (_, cubic), (_, bbr)], true) = (traces, link.loss == 0.0) {
        let share = milliseconds(bbr) / milliseconds(cubic);
        report.bounded(format!("{link}: BBR's queue against Cubic's"), share, "x", BBR_QUEUES);
    }
}

#[allow(clippy::print_stdout, reason = "where the picture is is the program's output")]
fn write(link: Link, traces: &[(&str, Trace)]) -> Result<(), Error> {
    let path = report::directory().join(format!("windows-{}.svg", link.slug()));
    std::fs::create_dir_all(report::directory())
        .and_then(|()| std::fs::write(&path, draw(link, traces)))
        .map_err(Error::while_doing(ErrorKind::Report, format!("writing {}", path.display())))?;
    println!("picture in {}", path.display());
    Ok(())
}

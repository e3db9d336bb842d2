//! Goodput by size, all ways in turn, and its drawing: Figures 3.4 and A.1. All processes share a core, so it is goodput per core.

use super::chain::{Chain, Way};
use super::rows::{ENVOYS, GRPC, NATIVE, SIZES, load};
use crate::Error;
use crate::harness::{Effort, ratio_of_medians};
use crate::report::Report;
use bertha_plot::{Spread, bit_rate_spreads};

/// Measures the rows over gRPC, and draws all ways.
///
/// # Errors
/// Errors of the processes, and a figure that can't be written.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let mut spreads = Vec::new();
    for bytes in SIZES {
        let (mut ways, mut goodputs) = (Vec::new(), Vec::new());
        for way in [NATIVE, GRPC, Way::Tonic, ENVOYS] {
            match way.lacking() {
                Some(reason) => report.skip(&format!("{bytes} bytes, goodput, {}", way.name()), reason),
                None => {
                    ways.push((way, Chain::start(way)?));
                    goodputs.push(Vec::new());
                }
            }
        }
        for _ in 0..effort.pick(8, 2) {
            for ((_, chain), goodputs) in ways.iter().zip(&mut goodputs) {
                // In Mbit/s, as they are drawn.
                goodputs.push(chain.ask(load(bytes, effort))?.per_second * bytes as f64 * 8.0 / 1e6);
            }
        }
        for ((way, _), these) in ways.iter().zip(&goodputs) {
            spreads.extend(Spread::of(&format!("{bytes} bytes, {}", way.name()), these));
            // The second is over gRPC; those behind it are compared with it.
            if let (Some(ours), Way::Tonic | Way::Envoys { .. }) = (goodputs.get(1), way) {
                let pairs: Vec<_> = ours.iter().copied().zip(these.iter().copied()).collect();
                let name = format!("{bytes} bytes, goodput, {} to {}", GRPC.name(), way.name());
                report.ratio(name, ratio_of_medians(&pairs, 0), None);
            }
        }
    }
    report.draw(
        "managed-goodput.svg",
        bit_rate_spreads("Goodput of requests by their size, on one core", &spreads),
    )
}

//! The cost of a policy where it needs side-cars, and where it does not: Figure 3.6 of the seed, whose tonic without a policy has none.

use super::chain::{Chain, Way};
use super::customers::Customers;
use super::envoy::Filter;
use super::rows::{NATIVE, SEVERAL};
use crate::Error;
use crate::harness::{Effort, alternate};
use crate::report::{Budget, Report};
use crate::rpc::Load;

/// Budgets of the rate with a policy to that without: tonic loses more than a third to its Envoys, and the daemons less than a tenth.
const OF_ENVOYS: Budget = Budget::AtMost(0.67);
const OURS: Budget = Budget::AtLeast(0.9);

const LIMIT: Way = Way::Daemons { engine: Some("rate-limit:per-second=infinite") };
const ACL: Way = Way::Daemons { engine: Some("acl:field=customer deny=eve") };

/// Measures an infinite limit, and a list that refuses one call in a hundred.
///
/// # Errors
/// Errors of the processes, and calls whose outcome is not that of the policy.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let load = Load { bytes: 64, in_flight: SEVERAL, calls: effort.pick(50_000, 5_000) };
    let (served, refused) =
        (Customers::WithEve { is_refused: false }, Customers::WithEve { is_refused: true });
    let (alice, envoys) = (Customers::Alice, |filter| Way::Envoys { filter });
    let pairs = [
        ("an infinite limit", (Way::Tonic, alice), (envoys(Filter::Limit), alice), OF_ENVOYS),
        ("an infinite limit", (NATIVE, alice), (LIMIT, alice), OURS),
        ("1 % refused by a field", (Way::Tonic, served), (envoys(Filter::Acl), refused), OF_ENVOYS),
        ("1 % refused by a field", (NATIVE, served), (ACL, refused), OURS),
    ];
    for (policy, (a, without), (b, with), budget) in pairs {
        let name = format!("{policy}, {} to {}, calls per second", b.name(), a.name());
        if let Some(reason) = b.lacking() {
            report.skip(&name, reason);
            continue;
        }
        let (first, second) = (Chain::start(a)?, Chain::start(b)?);
        let paired =
            alternate(effort.pick(8, 2), || first.ask_for(without, load), || second.ask_for(with, load))?;
        for (way, samples) in [(a, paired.a()), (b, paired.b())] {
            report.median(format!("{name}: {}", way.name()), &samples, |it| it.per_second, "calls/s");
        }
        report.compare(&name, &paired, |it| it.per_second, Some(budget));
    }
    Ok(())
}

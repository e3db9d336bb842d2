//! The times of each service, as Figure 3.8 of the thesis has them.

use super::load::Answered;
use std::fmt;

/// The times of a service, in microseconds. Those of services that it calls are a part of its times.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shares {
    /// Name of the service.
    pub service: String,
    /// Mean work.
    pub work_us: f64,
    /// Mean of the rest of the time from request to answer: what calls cost.
    pub calls_us: f64,
    /// 99th percentile of the work.
    pub work_p99_us: f64,
    /// 99th percentile of the rest.
    pub calls_p99_us: f64,
}

/// The times of some searches.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// Number of searches.
    pub count: usize,
    /// Mean time from the moment at which a search was due to its answer, in microseconds.
    pub mean_us: f64,
    /// 99th percentile of the same.
    pub p99_us: f64,
    /// The times of each service, the front end first. These are measured at the caller of a service, and of the front end by itself.
    pub services: Vec<Shares>,
}

impl Summary {
    /// Summarises answers.
    pub fn of(answers: &[Answered]) -> Self {
        let microseconds = |ns: u64| ns as f64 / 1e3;
        let took: Vec<_> = answers.iter().map(|answer| answer.took.as_secs_f64() * 1e6).collect();
        let mut names: Vec<&str> = Vec::new();
        for call in answers.iter().flat_map(|answer| &answer.calls) {
            if !names.contains(&call.service.as_str()) {
                names.push(&call.service);
            }
        }
        let services = names.into_iter().map(|service| {
            let calls =
                answers.iter().flat_map(|answer| &answer.calls).filter(|call| call.service == service);
            let (work, rest): (Vec<_>, Vec<_>) = calls
                .map(|call| {
                    (microseconds(call.worked_ns), microseconds(call.took_ns.saturating_sub(call.worked_ns)))
                })
                .unzip();
            Shares {
                service: service.to_owned(),
                work_us: mean(&work),
                calls_us: mean(&rest),
                work_p99_us: p99(work),
                calls_p99_us: p99(rest),
            }
        });
        Self { count: answers.len(), mean_us: mean(&took), services: services.collect(), p99_us: p99(took) }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the value that one in a hundred exceeds.
fn p99(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() * 99).div_ceil(100).saturating_sub(1);
    values.get(at).copied().unwrap_or_default()
}

/// Writes a line for each service.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, mean_us, p99_us, services } = self;
        write!(f, "{count} searches: mean {mean_us:.1} us, p99 {p99_us:.1} us")?;
        for Shares { service, work_us, calls_us, work_p99_us, calls_p99_us } in services {
            write!(
                f,
                "\n{service:8} work {work_us:8.1} us, p99 {work_p99_us:8.1} us; calls {calls_us:8.1} us, p99 {calls_p99_us:8.1} us"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::messages::Call;
    use super::*;
    use std::time::Duration;

    #[test]
    fn means_and_percentiles_are_of_each_service() {
        let answered = |number: u64| {
            let call = |service: &str, took, worked| Call {
                service: service.into(),
                took_ns: 1000 * took,
                worked_ns: 1000 * worked,
            };
            let calls = vec![call("front", 3 * number, number), call("geo", 5, 2)];
            Answered { took: Duration::from_micros(number), calls, body: Vec::new() }
        };
        let answers: Vec<_> = (1..=100).map(answered).collect();
        let summary = Summary::of(&answers);
        assert_eq!((summary.count, summary.mean_us.round(), summary.p99_us.round()), (100, 51.0, 99.0));
        let [front, geo] = &summary.services[..] else { panic!("{summary}") };
        let front = (&*front.service, front.work_us, front.calls_us, front.work_p99_us, front.calls_p99_us);
        assert_eq!(front, ("front", 50.5, 101.0, 99.0, 198.0));
        assert_eq!((geo.work_us, geo.calls_us), (2.0, 3.0));
        assert_eq!(Summary::of(&[]).mean_us, 0.0);
    }
}

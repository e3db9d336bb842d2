//! A metric of an application, which is read when Prometheus asks.

use super::families::Families;
use bertha_chunnels::metrics::Latency;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use std::collections::HashMap;

/// A metric whose value an application has elsewhere: a function reads it when Prometheus asks.
pub struct ReadMetric {
    description: Desc,
    series: Series,
}

enum Series {
    Counter(Box<dyn Fn() -> u64 + Send + Sync>),
    Gauge(Box<dyn Fn() -> u64 + Send + Sync>),
    Counters { label: String, read: Box<dyn Fn() -> Vec<(&'static str, u64)> + Send + Sync> },
    Labelled { labels: Vec<String>, read: Box<dyn Fn() -> Vec<(Vec<String>, Value)> + Send + Sync> },
}

/// A value of a series.
#[derive(Debug, Clone)]
pub enum Value {
    /// A number that never falls.
    Counter(u64),
    /// A histogram of times.
    Times(Box<Latency>),
}

impl ReadMetric {
    /// Makes a counter: a number that never falls.
    ///
    /// # Errors
    /// `prometheus::Error` if the name can't be one.
    pub fn counter(
        name: &str,
        help: &str,
        read: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<Self, prometheus::Error> {
        Self::new(name, help, &[], Series::Counter(Box::new(read)))
    }

    /// Makes a counter with a series for each value of `label`.
    ///
    /// # Errors
    /// Errors of [`counter`](Self::counter).
    pub fn counters(
        name: &str,
        help: &str,
        label: &str,
        read: impl Fn() -> Vec<(&'static str, u64)> + Send + Sync + 'static,
    ) -> Result<Self, prometheus::Error> {
        Self::new(name, help, &[label], Series::Counters { label: label.into(), read: Box::new(read) })
    }

    /// Makes a gauge: a number that may rise and fall.
    ///
    /// # Errors
    /// Errors of [`counter`](Self::counter).
    pub fn gauge(
        name: &str,
        help: &str,
        read: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<Self, prometheus::Error> {
        Self::new(name, help, &[], Series::Gauge(Box::new(read)))
    }

    /// Makes a counter or a histogram with a series for each set of values of `labels`, in their order. All values must be of one kind.
    ///
    /// # Errors
    /// Errors of [`counter`](Self::counter).
    pub fn labelled(
        name: &str,
        help: &str,
        labels: &[&str],
        read: impl Fn() -> Vec<(Vec<String>, Value)> + Send + Sync + 'static,
    ) -> Result<Self, prometheus::Error> {
        let names = labels.iter().map(|label| (*label).to_owned()).collect();
        Self::new(name, help, labels, Series::Labelled { labels: names, read: Box::new(read) })
    }

    fn new(name: &str, help: &str, labels: &[&str], series: Series) -> Result<Self, prometheus::Error> {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        Ok(Self { description: Desc::new(name.into(), help.into(), labels, HashMap::new())?, series })
    }
}

bertha_core::debug_fields!(ReadMetric { description });

impl Collector for ReadMetric {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.description]
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let Desc { fq_name: name, help, .. } = &self.description;
        let mut families = Families::default();
        match &self.series {
            Series::Counter(read) => families.counter(name, help, &[], read()),
            Series::Gauge(read) => families.gauge(name, help, &[], read() as f64),
            Series::Counters { label, read } => {
                for (value, count) in read() {
                    families.counter(name, help, &[(label, value)], count);
                }
            }
            Series::Labelled { labels, read } => {
                for (values, value) in read() {
                    let labels: Vec<_> =
                        labels.iter().map(String::as_str).zip(values.iter().map(String::as_str)).collect();
                    match value {
                        Value::Counter(count) => families.counter(name, help, &labels, count),
                        Value::Times(times) => {
                            let times = (times.octaves(), times.count(), times.sum());
                            families.histogram(name, help, &labels, times);
                        }
                    }
                }
            }
        }
        families.done()
    }
}

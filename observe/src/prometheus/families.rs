//! Families of metrics, as the crate `prometheus` takes them.

use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType};
use std::collections::BTreeMap;
use std::time::Duration;

/// Families by name.
#[derive(Default)]
pub(super) struct Families(BTreeMap<String, Family>);

struct Family {
    help: String,
    kind: MetricType,
    metrics: Vec<Metric>,
}

/// The labels of a series.
pub(super) type Labels<'a> = &'a [(&'a str, &'a str)];

impl Families {
    /// Adds a series of a counter.
    pub(super) fn counter(&mut self, name: &str, help: &str, labels: Labels<'_>, value: u64) {
        let mut counter = Counter::default();
        counter.set_value(value as f64);
        let mut metric = labelled(labels);
        metric.set_counter(counter);
        self.add(name, help, MetricType::COUNTER, metric);
    }

    /// Adds a series of a gauge.
    pub(super) fn gauge(&mut self, name: &str, help: &str, labels: Labels<'_>, value: f64) {
        let mut gauge = Gauge::default();
        gauge.set_value(value);
        let mut metric = labelled(labels);
        metric.set_gauge(gauge);
        self.add(name, help, MetricType::GAUGE, metric);
    }

    /// Adds a series of a histogram: bounds with the number of times within each, the number of all times, and
    /// their sum.
    pub(super) fn histogram(
        &mut self,
        name: &str,
        help: &str,
        labels: Labels<'_>,
        times: (impl Iterator<Item = (Duration, u64)>, u64, Duration),
    ) {
        let (bounds, count, sum) = times;
        let buckets = bounds.map(|(bound, count)| {
            let mut bucket = Bucket::default();
            bucket.set_upper_bound(bound.as_secs_f64());
            bucket.set_cumulative_count(count);
            bucket
        });
        let mut histogram = Histogram::default();
        histogram.set_bucket(buckets.collect());
        histogram.set_sample_count(count);
        histogram.set_sample_sum(sum.as_secs_f64());
        let mut metric = labelled(labels);
        metric.set_histogram(histogram);
        self.add(name, help, MetricType::HISTOGRAM, metric);
    }

    fn add(&mut self, name: &str, help: &str, kind: MetricType, metric: Metric) {
        let new = || Family { help: help.into(), kind, metrics: Vec::new() };
        self.0.entry(name.into()).or_insert_with(new).metrics.push(metric);
    }

    /// Returns all families.
    pub(super) fn done(self) -> Vec<MetricFamily> {
        let families = self.0.into_iter().map(|(name, Family { help, kind, metrics })| {
            let mut family = MetricFamily::default();
            family.set_name(name);
            family.set_help(help);
            family.set_field_type(kind);
            family.set_metric(metrics);
            family
        });
        families.collect()
    }
}

fn labelled(labels: Labels<'_>) -> Metric {
    let labels = labels.iter().map(|&(name, value)| {
        let mut label = LabelPair::default();
        label.set_name(name.into());
        label.set_value(value.into());
        label
    });
    Metric::from_label(labels.collect())
}

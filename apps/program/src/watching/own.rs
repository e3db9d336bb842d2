//! Metrics of a program, which are read when Prometheus asks.

use bertha_core::ErrorKind;
use prometheus::core::{Collector, Desc};
use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType};
use std::collections::HashMap;

type Read = Box<dyn Fn() -> Vec<(&'static str, u64)> + Send + Sync>;

/// A metric of a program.
pub(super) struct Own {
    description: Desc,
    kind: MetricType,
    label: Option<String>,
    read: Read,
}

impl Own {
    pub(super) fn counter(
        name: &str,
        help: &str,
        label: Option<&str>,
        read: impl Fn() -> Vec<(&'static str, u64)> + Send + Sync + 'static,
    ) -> Result<Self, prometheus::Error> {
        Self::new(name, help, MetricType::COUNTER, label, Box::new(read))
    }

    pub(super) fn gauge(
        name: &str,
        help: &str,
        read: impl Fn() -> Vec<(&'static str, u64)> + Send + Sync + 'static,
    ) -> Result<Self, prometheus::Error> {
        Self::new(name, help, MetricType::GAUGE, None, Box::new(read))
    }

    fn new(
        name: &str,
        help: &str,
        kind: MetricType,
        label: Option<&str>,
        read: Read,
    ) -> Result<Self, prometheus::Error> {
        let label = label.map(str::to_owned);
        let labels = label.clone().into_iter().collect();
        let description = Desc::new(name.into(), help.into(), labels, HashMap::new())?;
        Ok(Self { description, kind, label, read })
    }

    fn metric(&self, value_of_label: &str, value: u64) -> Metric {
        let labels = self.label.iter().map(|name| {
            let mut label = LabelPair::default();
            label.set_name(name.clone());
            label.set_value(value_of_label.into());
            label
        });
        let mut metric = Metric::from_label(labels.collect());
        if self.kind == MetricType::COUNTER {
            let mut counter = Counter::default();
            counter.set_value(value as f64);
            metric.set_counter(counter);
        } else {
            let mut gauge = Gauge::default();
            gauge.set_value(value as f64);
            metric.set_gauge(gauge);
        }
        metric
    }
}

impl Collector for Own {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.description]
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let mut family = MetricFamily::default();
        family.set_name(self.description.fq_name.clone());
        family.set_help(self.description.help.clone());
        family.set_field_type(self.kind);
        family
            .set_metric((self.read)().into_iter().map(|(label, value)| self.metric(label, value)).collect());
        vec![family]
    }
}

pub(super) fn refused(error: prometheus::Error) -> bertha_core::Error {
    bertha_core::Error::new(ErrorKind::Invalid, format!("a metric is refused: {error}"))
}

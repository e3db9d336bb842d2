//! The spans of a process, and their transport to another process: a line of text for each span.

use opentelemetry::KeyValue;
use opentelemetry::trace::{SpanId, TraceId, TracerProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tracing_subscriber::layer::SubscriberExt;

/// A span that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Collected {
    pub(crate) name: String,
    pub(crate) trace: TraceId,
    pub(crate) id: SpanId,
    pub(crate) parent: SpanId,
    /// The outcome, if it is known: the agreement or the error of negotiation.
    pub(crate) field: Option<String>,
}

impl From<&SpanData> for Collected {
    fn from(span: &SpanData) -> Self {
        Self {
            name: span.name.to_string(),
            trace: span.span_context.trace_id(),
            id: span.span_context.span_id(),
            parent: span.parent_span_id,
            field: span
                .attributes
                .iter()
                .find(is_outcome)
                .map(|field| format!("{}={}", field.key, field.value)),
        }
    }
}

fn is_outcome(field: &&KeyValue) -> bool {
    ["agreement", "error"].contains(&field.key.as_str())
}

impl Collected {
    pub(crate) fn line(&self) -> String {
        let Self { name, trace, id, parent, .. } = self;
        format!("span {trace} {id} {parent} {name}")
    }

    /// Reads a span from a line.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let ["span", trace, id, parent, name] = words[..] else { return None };
        Some(Self {
            name: name.to_owned(),
            trace: TraceId::from_hex(trace).unwrap(),
            id: SpanId::from_hex(id).unwrap(),
            parent: SpanId::from_hex(parent).unwrap(),
            field: None,
        })
    }
}

/// Collects the spans of this thread, for as long as it lives.
pub(crate) struct Collector {
    exporter: InMemorySpanExporter,
    _provider: SdkTracerProvider,
    _in_use: tracing::subscriber::DefaultGuard,
}

impl Collector {
    pub(crate) fn start() -> Self {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        let in_use = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
        Self { exporter, _provider: provider, _in_use: in_use }
    }

    /// Returns the spans that have ended so far.
    pub(crate) fn spans(&self) -> Vec<Collected> {
        self.exporter.get_finished_spans().unwrap().iter().map(Collected::from).collect()
    }
}

//! The spans of calls, for calls of [`Rpc`](super::Rpc) and for those of a daemon.
//!
//! With the feature `opentelemetry` each call is a span of `tracing`, `rpc.call` at the client and `rpc.handle` at the server, both with
//! the target `bertha::rpc`. If the client's belongs to a trace of OpenTelemetry, the [trace](Trace) goes with the call. Without the feature nothing
//! is traced, at no cost.

use super::Trace;

#[cfg(not(feature = "opentelemetry"))]
pub use silent::*;
#[cfg(feature = "opentelemetry")]
pub use spoken::*;

/// The headroom for a trace, where traces are sent.
pub(super) const HEADROOM: usize = if cfg!(feature = "opentelemetry") { Trace::SIZE } else { 0 };

#[cfg(not(feature = "opentelemetry"))]
mod silent {
    use super::Trace;

    #[inline]
    pub fn of_caller() -> Option<Trace> {
        None
    }

    #[inline]
    pub fn calling<F: Future>(_: Option<&'static str>, _: &'static str, call: F) -> F {
        call
    }

    #[inline]
    pub fn handling<F: Future>(_: Option<&'static str>, _: u32, _: Option<Trace>, answer: F) -> F {
        answer
    }
}

#[cfg(feature = "opentelemetry")]
mod spoken {
    use super::Trace;
    use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
    use tracing::{Instrument, Span, info_span};
    use tracing_opentelemetry::OpenTelemetrySpanExt;

    /// Returns the trace of the span in use, if it has one.
    pub fn of_caller() -> Option<Trace> {
        let context = Span::current().context();
        let span = context.span().span_context().clone();
        let mut bytes = [0; Trace::SIZE];
        bytes[..16].copy_from_slice(&span.trace_id().to_bytes());
        bytes[16..24].copy_from_slice(&span.span_id().to_bytes());
        bytes[24] = span.trace_flags().to_u8();
        Trace::read(&bytes)
    }

    /// Makes the span of a call at the client, of a method and, where it is known, its service.
    pub fn calling<F: Future + Send>(
        service: Option<&'static str>,
        method: &'static str,
        call: F,
    ) -> impl Future<Output = F::Output> + Send {
        call.instrument(info_span!(
            target: "bertha::rpc",
            "rpc.call",
            otel.kind = "client",
            rpc.system = "bertha",
            rpc.service = service,
            rpc.method = method
        ))
    }

    /// Makes the span of a call at the server, below the span of the trace, if there is one.
    pub fn handling<F: Future + Send>(
        service: Option<&'static str>,
        method: u32,
        trace: Option<Trace>,
        answer: F,
    ) -> impl Future<Output = F::Output> + Send {
        let span = info_span!(
            target: "bertha::rpc",
            "rpc.handle",
            otel.kind = "server",
            rpc.system = "bertha",
            rpc.service = service,
            rpc.method_id = method
        );
        if let Some(trace) = trace {
            let context = opentelemetry::Context::new().with_remote_span_context(parent(trace));
            // Fails without a layer for OpenTelemetry, where nobody asks for the trace.
            let _ = span.set_parent(context);
        }
        answer.instrument(span)
    }

    fn parent(trace: Trace) -> SpanContext {
        let [.., flags] = trace.to_bytes();
        let (id, span) = (TraceId::from(trace.id()), SpanId::from(trace.span()));
        SpanContext::new(id, span, TraceFlags::new(flags), true, TraceState::default())
    }
}

#[cfg(all(test, feature = "opentelemetry"))]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use crate::Rpc;
    use crate::rpc::{Client, Method, handler, serve};
    use bertha_core::{Wrap, make_stack};
    use bertha_datapath_sim::pair;
    use bertha_runtime::tokio::TokioRuntime;
    use opentelemetry::trace::{SpanId, SpanKind, TracerProvider};
    use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
    use tracing::Instrument;
    use tracing_subscriber::layer::SubscriberExt;

    const DOUBLE: Method = Method::new("double");

    #[tokio::test]
    async fn the_span_of_the_server_is_below_that_of_the_client() {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        let _in_use = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));

        let (one, other) = pair(TokioRuntime);
        let stack = make_stack!(Rpc::new());
        let client = Client::new(stack.wrap(one).await.unwrap());
        let server = stack.wrap(other).await.unwrap();
        let answer = async |number: u64| tracing::info_span!("work").in_scope(|| Ok(2 * number));
        let serving = serve(server, handler(DOUBLE, answer));
        let asking = async {
            let doubled: u64 = client.call(DOUBLE, &21_u64).response().await.unwrap();
            assert_eq!(doubled, 42);
        };
        tokio::select! {
            () = asking.instrument(tracing::info_span!("request")) => {}
            ended = async { serving.await } => panic!("{ended:?}"),
        }

        let spans = exporter.get_finished_spans().unwrap();
        let span = |name: &str| -> &SpanData { spans.iter().find(|span| span.name == name).unwrap() };
        let [request, call, handle, work] = ["request", "rpc.call", "rpc.handle", "work"].map(span);
        assert_eq!(request.parent_span_id, SpanId::INVALID);
        assert_eq!(call.parent_span_id, request.span_context.span_id());
        assert_eq!(handle.parent_span_id, call.span_context.span_id());
        assert_eq!(work.parent_span_id, handle.span_context.span_id());
        assert!(handle.parent_span_is_remote);
        assert_eq!((&call.span_kind, &handle.span_kind), (&SpanKind::Client, &SpanKind::Server));
        assert_eq!(work.span_context.trace_id(), request.span_context.trace_id());
    }
}

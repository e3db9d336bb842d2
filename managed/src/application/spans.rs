//! The spans of calls, and the traces to which they belong across processes.
//!
//! Calls are spans of `tracing` with the feature `opentelemetry`: `rpc.call` at the client and `rpc.handle` at a server that
//! [serves](super::Server::serve), both with the target `bertha::rpc`. If the client's belongs to a trace of OpenTelemetry, the call takes the trace along.
//! Without the feature nothing is traced, at no cost.

#[cfg(not(feature = "opentelemetry"))]
pub(super) use silent::*;
#[cfg(feature = "opentelemetry")]
pub(super) use spoken::*;

#[cfg(not(feature = "opentelemetry"))]
#[allow(clippy::extra_unused_type_parameters, reason = "spans name the services and methods")]
mod silent {
    use crate::{Method, Service, Trace};

    #[inline]
    pub(in crate::application) fn of_caller() -> Option<Trace> {
        None
    }

    #[inline]
    pub(in crate::application) fn calling<M: Method, F: Future>(call: F) -> F {
        call
    }

    #[inline]
    pub(in crate::application) fn handling<S: Service, F: Future>(_: u32, _: Option<Trace>, answer: F) -> F {
        answer
    }
}

#[cfg(feature = "opentelemetry")]
mod spoken {
    use crate::{Method, Service, Trace};
    use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
    use tracing::{Instrument, Span, info_span};
    use tracing_opentelemetry::OpenTelemetrySpanExt;

    /// Returns the trace of the span in use, if it has one.
    pub(in crate::application) fn of_caller() -> Option<Trace> {
        let context = Span::current().context();
        let span = context.span().span_context().clone();
        let mut bytes = [0; Trace::SIZE];
        bytes[..16].copy_from_slice(&span.trace_id().to_bytes());
        bytes[16..24].copy_from_slice(&span.span_id().to_bytes());
        bytes[24] = span.trace_flags().to_u8();
        Trace::read(&bytes)
    }

    /// Returns the span of a call at the client.
    pub(in crate::application) fn calling<M: Method, F: Future + Send>(
        call: F,
    ) -> impl Future<Output = F::Output> + Send {
        call.instrument(info_span!(
            target: "bertha::rpc",
            "rpc.call",
            otel.kind = "client",
            rpc.system = "bertha",
            rpc.service = <M::Service as Service>::NAME,
            rpc.method = M::NAME
        ))
    }

    /// Returns the span of a call at the server, below the span of the trace, if there is one.
    pub(in crate::application) fn handling<S: Service, F: Future + Send>(
        method: u32,
        trace: Option<Trace>,
        answer: F,
    ) -> impl Future<Output = F::Output> + Send {
        let span = info_span!(
            target: "bertha::rpc",
            "rpc.handle",
            otel.kind = "server",
            rpc.system = "bertha",
            rpc.service = S::NAME,
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

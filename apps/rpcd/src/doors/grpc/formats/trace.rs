//! The trace of a call.

use bertha_managed::Trace;
use http::{HeaderMap, HeaderValue};

/// The header of W3C Trace Context. Its companion `tracestate` has no place in descriptors, and is not passed on.
const HEADER: &str = "traceparent";

/// Returns the trace that headers state. One that is not understood, and several, are none.
pub(crate) fn read(headers: &HeaderMap) -> Option<Trace> {
    let mut stated = headers.get_all(HEADER).iter();
    let (trace, None) = (stated.next()?, stated.next()) else { return None };
    trace.to_str().ok()?.parse().ok()
}

/// States a trace in headers.
pub(crate) fn write(headers: &mut HeaderMap, trace: Trace) {
    if let Ok(text) = HeaderValue::try_from(trace.to_string()) {
        headers.insert(HEADER, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_as_it_was_written_and_several_are_none() {
        let (mut headers, trace) = (HeaderMap::new(), Trace::begin(7, 9).unwrap());
        assert_eq!(read(&headers), None);
        write(&mut headers, trace);
        assert_eq!(read(&headers), Some(trace));
        headers.append(HEADER, HeaderValue::from_static("more"));
        assert_eq!(read(&headers), None);
        headers.insert(HEADER, HeaderValue::from_static("00-nothing"));
        assert_eq!(read(&headers), None);
    }
}

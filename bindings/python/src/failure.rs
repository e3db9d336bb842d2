//! An error on its way to Python.

use bertha::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use std::borrow::Cow;

/// The kind of an error, which is the name of its class in Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Closed,
    Reset,
    TimedOut,
    Unreachable,
    NotSent,
    Refused,
    VersionMismatch,
    Unauthenticated,
    Malformed,
    TooLarge,
    Exhausted,
    AddressInUse,
    Unavailable,
    Invalid,
    Io,
    Forked,
}

/// An error: its kind, a text, and a flag that is true if the connection has ended with it.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    text: Cow<'static, str>,
    ends_connection: bool,
}

impl Failure {
    pub(crate) fn new(kind: Kind, text: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, text: text.into(), ends_connection: false }
    }

    /// The time of a call is up.
    pub(crate) fn late() -> Self {
        Self::new(Kind::TimedOut, "the time of the call is up")
    }

    /// Returns the failure of a message that is longer than the connection carries.
    pub(crate) fn too_long(length: usize, longest: usize) -> Self {
        let text = format!("a message of {length} bytes, where the connection carries {longest}");
        Self::new(Kind::TooLarge, text)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::Closed => Kind::Closed,
            ErrorKind::Reset => Kind::Reset,
            ErrorKind::TimedOut => Kind::TimedOut,
            ErrorKind::Unreachable => Kind::Unreachable,
            ErrorKind::NotSent => Kind::NotSent,
            ErrorKind::Refused => Kind::Refused,
            ErrorKind::Version => Kind::VersionMismatch,
            ErrorKind::Unauthenticated => Kind::Unauthenticated,
            ErrorKind::Malformed => Kind::Malformed,
            ErrorKind::TooLarge => Kind::TooLarge,
            ErrorKind::Exhausted => Kind::Exhausted,
            ErrorKind::AddrInUse => Kind::AddressInUse,
            ErrorKind::Unavailable => Kind::Unavailable,
            ErrorKind::Invalid => Kind::Invalid,
            _ => Kind::Io,
        };
        let ends_connection = error.ends_connection();
        Self { kind, text: Cow::Owned(format!("{error:?}")), ends_connection }
    }
}

impl From<bertha_named::Unknown> for Failure {
    fn from(unknown: bertha_named::Unknown) -> Self {
        Error::from(unknown).into()
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| match exception(py, &failure) {
            Ok(exception) => Self::from_value(exception),
            Err(error) => error,
        })
    }
}

/// Makes the exception. Its classes are written in Python, since they have two bases.
fn exception<'py>(py: Python<'py>, failure: &Failure) -> PyResult<Bound<'py, PyAny>> {
    static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let classes = CLASSES.get_or_try_init(py, || -> PyResult<_> {
        let classes = py.import("bertha._errors")?.getattr("KINDS")?;
        Ok(classes.cast_into::<PyDict>()?.unbind())
    })?;
    let class = classes.bind(py).as_any().get_item(format!("{:?}", failure.kind))?;
    class.call1((failure.text.as_ref(), failure.ends_connection))
}

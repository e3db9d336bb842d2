//! An error on its way to Python.

use bertha::rpc::{self, FailureKind};
use bertha::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use std::borrow::Cow;

/// The kind of an error, whose name is that of its class in Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Error(ErrorKind),
    Call(FailureKind),
    Forked,
}

impl From<ErrorKind> for Kind {
    fn from(kind: ErrorKind) -> Self {
        Self::Error(kind)
    }
}

/// An error: its kind, a text, and a flag that is true if the connection has ended with it.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    text: Cow<'static, str>,
    /// The flag is true if the connection has ended, and for the failure of a call if the call may have run.
    ends_connection: bool,
}

impl Failure {
    pub(crate) fn new(kind: impl Into<Kind>, text: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: kind.into(), text: text.into(), ends_connection: false }
    }

    /// Returns the failure of a message that is longer than the connection carries.
    pub(crate) fn too_long(length: usize, longest: usize) -> Self {
        let text = format!("a message of {length} bytes, where the connection carries {longest}");
        Self::new(ErrorKind::TooLarge, text)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let ends_connection = error.ends_connection();
        Self { kind: error.kind().into(), text: Cow::Owned(format!("{error:?}")), ends_connection }
    }
}

impl From<rpc::Failure> for Failure {
    fn from(failure: rpc::Failure) -> Self {
        let text = Cow::Owned(failure.text().to_owned());
        Self { kind: Kind::Call(failure.kind()), text, ends_connection: failure.may_have_run() }
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
    let name = match failure.kind {
        Kind::Call(kind) => format!("Call{kind:?}"),
        Kind::Error(kind) => format!("{kind:?}"),
        Kind::Forked => "Forked".to_owned(),
    };
    let classes = classes.bind(py);
    let class = match classes.get_item(name)? {
        Some(class) => class,
        None => classes.as_any().get_item("Io")?,
    };
    class.call1((failure.text.as_ref(), failure.ends_connection))
}

//! Texts and figures about a connection, as objects of Python.

use bertha::core::statistics::Value;
use bertha_named::AnyConnection;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Returns a class of the part of the package that is written in Python.
fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("bertha._told")?.getattr(name)
}

/// Returns the stack in use, and the reasons for it.
pub(crate) fn explanation<'py>(py: Python<'py>, any: &dyn AnyConnection) -> PyResult<Bound<'py, PyAny>> {
    let agreement = any.agreement();
    let notes = agreement.iter().flat_map(|agreement| agreement.notes()).map(ToString::to_string);
    let fields = PyDict::new(py);
    fields.set_item("text", any.explain())?;
    fields.set_item("chunnels", PyTuple::new(py, any.chunnels())?)?;
    fields.set_item("reasons", agreement.as_ref().map_or("", |agreement| agreement.reasons()))?;
    fields.set_item("notes", PyTuple::new(py, notes.collect::<Vec<_>>())?)?;
    fields.set_item("round", agreement.as_ref().map_or(0, |agreement| agreement.round()))?;
    fields.set_item(
        "is_authenticated",
        agreement.as_ref().is_some_and(|agreement| agreement.is_authenticated()),
    )?;
    class(py, "Explanation")?.call((), Some(&fields))
}

/// Returns figures of a connection: what its operations have counted, and the state of its layers.
pub(crate) fn statistics<'py>(
    py: Python<'py>,
    any: &dyn AnyConnection,
    counts: [u64; 4],
) -> PyResult<Bound<'py, PyAny>> {
    let observed = any.observed();
    let layers = observed.layers().map(|layer| {
        let (values, drops) = (PyDict::new(py), PyDict::new(py));
        for (name, found) in layer.values() {
            values.set_item(name, value(py, found)?)?;
        }
        for dropped in layer.drops() {
            drops.set_item(dropped.reason, dropped.messages)?;
        }
        class(py, "Layer")?.call1((layer.name(), values, drops))
    });
    let layers = layers.collect::<PyResult<Vec<_>>>()?;
    let fields = PyDict::new(py);
    let names = ["sent_messages", "sent_bytes", "received_messages", "received_bytes"];
    for (name, count) in names.into_iter().zip(counts) {
        fields.set_item(name, count)?;
    }
    fields.set_item("dropped", any.dropped())?;
    fields.set_item("forged", any.forged())?;
    fields.set_item("layers", PyTuple::new(py, layers)?)?;
    fields.set_item("text", observed.to_string())?;
    class(py, "Statistics")?.call((), Some(&fields))
}

/// Returns a value as Python has it: times are seconds.
fn value(py: Python<'_>, value: Value) -> PyResult<Py<PyAny>> {
    match value {
        Value::Total(number)
        | Value::Number(number)
        | Value::Bytes(number)
        | Value::TotalBytes(number)
        | Value::Rate(number) => number.into_py_any(py),
        Value::Time(time) => time.as_secs_f64().into_py_any(py),
        Value::Is(is) => is.into_py_any(py),
        other => other.to_string().into_py_any(py),
    }
}

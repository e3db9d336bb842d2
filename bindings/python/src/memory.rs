//! Memory that Python and the datapaths share: the only file of this crate with `unsafe`.
//!
//! The buffer protocol is a part of the stable interface since Python 3.11 only, so pyo3 has none for older Pythons. Its functions and its
//! struct have been the same since Python 3.0, and a class may have its slots since 3.9: they are declared here.
//! All functions here run with the interpreter attached, one at a time.
#![allow(unsafe_code)]

use bertha::Buf;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyMemoryView, PyType};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};

/// The struct `Py_buffer`.
#[repr(C)]
struct View {
    data: *mut c_void,
    object: *mut ffi::PyObject,
    length: ffi::Py_ssize_t,
    item: ffi::Py_ssize_t,
    is_readonly: c_int,
    dimensions: c_int,
    format: *mut c_char,
    shape: *mut ffi::Py_ssize_t,
    strides: *mut ffi::Py_ssize_t,
    suboffsets: *mut ffi::Py_ssize_t,
    internal: *mut c_void,
}

/// Contiguous bytes.
const SIMPLE: c_int = 0;
/// The slots of a class for the buffer protocol.
const GET_BUFFER: c_int = 1;
const RELEASE_BUFFER: c_int = 2;

unsafe extern "C" {
    fn PyObject_GetBuffer(object: *mut ffi::PyObject, view: *mut View, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut View);
    fn PyBuffer_FillInfo(
        view: *mut View,
        object: *mut ffi::PyObject,
        data: *mut c_void,
        length: ffi::Py_ssize_t,
        is_readonly: c_int,
        flags: c_int,
    ) -> c_int;
}

/// The bytes of an object of Python, which stay where they are while this is there.
pub(crate) struct Bytes<'py> {
    view: View,
    _py: Python<'py>,
}

impl<'py> Bytes<'py> {
    /// Takes the bytes of `bytes`, `bytearray`, `memoryview` and all else with contiguous bytes.
    ///
    /// # Errors
    /// `TypeError` if the object has none; `BufferError` if they are not contiguous.
    pub(crate) fn of(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let mut view = MaybeUninit::uninit();
        // SAFETY: the object is alive, and the place is that of a view.
        if unsafe { PyObject_GetBuffer(object.as_ptr(), view.as_mut_ptr(), SIMPLE) } != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        // SAFETY: the function has succeeded, so it has written the view.
        Ok(Self { view: unsafe { view.assume_init() }, _py: object.py() })
    }

    pub(crate) fn len(&self) -> usize {
        self.view.length.unsigned_abs()
    }

    /// Copies the bytes into memory of their length, of which the rest stays as it is.
    pub(crate) fn copy_to(&self, to: &mut [u8]) {
        let length = self.len().min(to.len());
        // SAFETY: the view has this many bytes, which nobody frees while it is held, and so has `to`. Nobody else can refer to `to`, so the
        // two do not overlap. Threads of Python do not change the bytes meanwhile, since this thread has the interpreter.
        unsafe { self.view.data.cast::<u8>().copy_to_nonoverlapping(to.as_mut_ptr(), length) };
    }
}

impl Drop for Bytes<'_> {
    fn drop(&mut self) {
        // SAFETY: the view was taken, and is released once.
        unsafe { PyBuffer_Release(&raw mut self.view) };
    }
}

/// The object behind a memoryview of a message.
#[repr(C)]
struct Exporter {
    base: ffi::PyObject,
    /// Made by `Box::into_raw`, and there until the object is freed.
    held: *mut Held,
}

struct Held {
    /// None once the message was sent.
    message: Option<Buf>,
    data: NonNull<u8>,
    length: usize,
    /// Number of views.
    exports: usize,
}

/// Returns a writable view of a message, without a copy.
pub(crate) fn view<'py>(py: Python<'py>, mut message: Buf) -> PyResult<Bound<'py, PyAny>> {
    let class = class(py)?;
    let bytes: &mut [u8] = &mut message;
    let (data, length) = (NonNull::from(&mut *bytes).cast(), bytes.len());
    let held = Box::into_raw(Box::new(Held { message: Some(message), data, length, exports: 0 }));
    // SAFETY: the class is alive, and its instances have the size of an `Exporter`.
    let object = unsafe { ffi::PyType_GenericAlloc(class.as_ptr().cast(), 0) };
    if object.is_null() {
        // SAFETY: made above, and given to nobody.
        drop(unsafe { Box::from_raw(held) });
        return Err(PyErr::fetch(py));
    }
    // SAFETY: a new instance, which nobody else refers to.
    unsafe { (*object.cast::<Exporter>()).held = held };
    // SAFETY: the reference is new and ours.
    let object = unsafe { Bound::from_owned_ptr(py, object) };
    Ok(PyMemoryView::from(&object)?.into_any())
}

/// Returns the message for these bytes: without a copy, if they are the only view of a message's memory. `make` returns memory for a copy.
///
/// # Errors
/// The errors of `make`, and of [`Bytes::of`].
pub(crate) fn message(object: &Bound<'_, PyAny>, make: impl FnOnce(usize) -> PyResult<Buf>) -> PyResult<Buf> {
    // The usual kind, without the price of a view.
    if let Ok(bytes) = object.cast_exact::<PyBytes>() {
        let bytes = bytes.as_bytes();
        let mut message = make(bytes.len())?;
        message[..bytes.len()].copy_from_slice(bytes);
        return Ok(message);
    }
    if let Some(exporter) = exporter(object)? {
        return taken(object, &exporter, make);
    }
    let bytes = Bytes::of(object)?;
    let mut message = make(bytes.len())?;
    bytes.copy_to(&mut message);
    Ok(message)
}

/// Returns the object behind a view of a message's memory; `None` for any other object.
fn exporter<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !object.is_exact_instance_of::<PyMemoryView>() {
        return Ok(None);
    }
    let exporter = object.getattr("obj")?;
    Ok(exporter.get_type().is(class(object.py())?).then_some(exporter))
}

/// Acknowledges the message behind its only view, which is released.
///
/// # Errors
/// `TypeError` if the object is no view of a message; `BufferError` if the message has further views: the last of them is to be given.
pub(crate) fn acknowledge(view: &Bound<'_, PyAny>) -> PyResult<()> {
    let Some(exporter) = exporter(view)? else {
        return Err(PyTypeError::new_err(
            "what is acknowledged is a view that `receive_buffer` has returned",
        ));
    };
    view.call_method0("release")?;
    // SAFETY: the object is of our class, and alive; nothing below runs Python.
    let held = unsafe { held(exporter.as_ptr()) };
    if held.exports > 0 {
        return Err(PyBufferError::new_err("the message has further views: acknowledge the last of them"));
    }
    if let Some(message) = held.message.take() {
        message.done();
    }
    Ok(())
}

/// Takes the message from behind its only view, which is released.
fn taken(
    view: &Bound<'_, PyAny>,
    exporter: &Bound<'_, PyAny>,
    make: impl FnOnce(usize) -> PyResult<Buf>,
) -> PyResult<Buf> {
    let bytes = Bytes::of(view)?;
    let (start, length) = (bytes.view.data.addr(), bytes.len());
    drop(bytes);
    view.call_method0("release")?;
    // SAFETY: the object is of our class, and alive; nothing below runs Python.
    let held = unsafe { held(exporter.as_ptr()) };
    let offset = start.saturating_sub(held.data.as_ptr().addr()).min(held.length);
    let length = length.min(held.length - offset);
    if held.exports == 0
        && let Some(mut message) = held.message.take()
    {
        message.advance(offset).map_err(crate::failure::Failure::from)?;
        message.truncate(length);
        return Ok(message);
    }
    let mut copy = make(length)?;
    // SAFETY: the offset is at most the length of the message.
    let from = unsafe { held.data.add(offset) };
    // SAFETY: a view is left, so the message is there, and the range lies within it. `copy` is other memory.
    unsafe { from.as_ptr().copy_to_nonoverlapping(copy.as_mut_ptr(), length.min(copy.len())) };
    Ok(copy)
}

/// Returns the state of an instance.
///
/// # Safety
/// The object is an instance of the class, the interpreter is attached, and no other reference to the state is in use.
unsafe fn held<'a>(object: *mut ffi::PyObject) -> &'a mut Held {
    // SAFETY: an instance is an `Exporter`.
    let held = unsafe { (*object.cast::<Exporter>()).held };
    // SAFETY: `view` has made it before anyone could have the object, which keeps it.
    unsafe { &mut *held }
}

unsafe extern "C" fn get_buffer(object: *mut ffi::PyObject, view: *mut View, flags: c_int) -> c_int {
    // SAFETY: the interpreter calls this for instances of the class alone.
    let held = unsafe { held(object) };
    if held.message.is_none() {
        // SAFETY: the interpreter passes a place for a view.
        unsafe { (*view).object = null_mut() };
        // SAFETY: the interpreter is attached.
        let py = unsafe { Python::assume_attached() };
        PyBufferError::new_err("the message was sent").restore(py);
        return -1;
    }
    let length = held.length.cast_signed();
    // SAFETY: the bytes are there until the message is taken, which it is only when there is no view.
    let filled = unsafe { PyBuffer_FillInfo(view, object, held.data.as_ptr().cast(), length, 0, flags) };
    if filled == 0 {
        held.exports += 1;
    }
    filled
}

unsafe extern "C" fn release_buffer(object: *mut ffi::PyObject, _view: *mut View) {
    // SAFETY: as in `get_buffer`.
    let held = unsafe { held(object) };
    held.exports -= 1;
}

unsafe extern "C" fn free(object: *mut ffi::PyObject) {
    // SAFETY: as in `get_buffer`. The last reference is gone, and with it all views.
    let held = unsafe { (*object.cast::<Exporter>()).held };
    if !held.is_null() {
        // SAFETY: made by `Box::into_raw`, and freed once.
        drop(unsafe { Box::from_raw(held) });
    }
    // SAFETY: the object is alive until it is freed below.
    let class = unsafe { ffi::Py_TYPE(object) };
    // SAFETY: the object was made by `PyType_GenericAlloc` for a class that is not collected as garbage.
    unsafe { ffi::PyObject_Free(object.cast()) };
    // SAFETY: an instance of a class that is made at run time holds a reference to it.
    unsafe { ffi::Py_DECREF(class.cast()) };
}

/// Returns the class of the objects behind views. Python can't make one itself.
fn class<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let made = CLASS.get_or_try_init(py, || {
        let mut slots = [
            ffi::PyType_Slot { slot: GET_BUFFER, pfunc: get_buffer as *mut c_void },
            ffi::PyType_Slot { slot: RELEASE_BUFFER, pfunc: release_buffer as *mut c_void },
            ffi::PyType_Slot { slot: ffi::Py_tp_dealloc, pfunc: free as *mut c_void },
            ffi::PyType_Slot { slot: 0, pfunc: null_mut() },
        ];
        let mut spec = ffi::PyType_Spec {
            name: c"bertha._bertha.Memory".as_ptr(),
            basicsize: size_of::<Exporter>() as c_int,
            itemsize: 0,
            flags: ffi::Py_TPFLAGS_DEFAULT as c_uint,
            slots: slots.as_mut_ptr(),
        };
        // SAFETY: the specification is as the interpreter wants it, and is copied.
        let class = unsafe { ffi::PyType_FromSpec(&raw mut spec) };
        // SAFETY: null with an exception, or a new reference.
        let class = unsafe { Bound::from_owned_ptr_or_err(py, class) }?.cast_into::<PyType>()?;
        // No instance without a message: the allocation alone would have none.
        class.setattr("__module__", "bertha._bertha")?;
        Ok::<_, PyErr>(class.unbind())
    })?;
    Ok(made.bind(py))
}

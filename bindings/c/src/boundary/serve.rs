//! Services.

use super::connect::place;
use super::guard::guarded;
use super::pointers::{Out, copied, one, text};
use crate::failure::Failure;
use crate::object::{self, Object};
use crate::service::{Callback, Service};
use bertha::Error;
use bertha_named::{Serving, method};
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// Most threads for the callbacks of a service.
const THREADS: u32 = 256;

/// The function that answers a call: it gets the context of the service, the handle of the call, and the place of the method in the list
/// of the service. It answers or fails the call, or keeps the handle, with which any thread answers later. It may use all
/// functions, but bertha_close for its own service, and may wait. It ends by returning: no exception of C++ and no longjmp leaves it, and it does not
/// end its thread, as pthread_exit and pthread_cancel do: at best, the process aborts then.
pub type Handler = Option<unsafe extern "C" fn(context: *mut c_void, call: u64, method: usize)>;

/// The methods of a service, and who answers.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Methods {
    /// The names of the methods.
    pub names: *const *const c_char,
    /// Number of the names, at most 4096.
    pub count: usize,
    /// Answers calls, or is null: then bertha_accept returns them.
    pub handler: Handler,
    /// Goes to the handler as it is.
    pub context: *mut c_void,
    /// Number of threads in which the handler runs, from 1 to 256; calls beyond wait, in turn and up to their deadlines.
    pub threads: u32,
}

/// A context of C, for any thread.
struct Context(*mut c_void);
// SAFETY: the library passes the pointer on and does not look behind it. That any thread may use it is what C is told.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// Serves methods at an address, with the names of bertha_client. Port 0 leaves the port to the system, and
/// bertha_listener_address tells it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_serve(
    datapath: *const c_char,
    address: *const c_char,
    stack: *const c_char,
    options: u64,
    methods: *const Methods,
    service: *mut u64,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let mut out = unsafe { Out::new(service) }?;
        // SAFETY: the caller's promise.
        let (datapath, address, stack) = unsafe { place(datapath, address, stack) }?;
        // SAFETY: the caller's promise.
        let Methods { names, count, handler, context, threads } = unsafe { one(methods) }?;
        // SAFETY: the caller's promise.
        let names = unsafe { copied(names, count) }?;
        let mut methods = HashMap::new();
        for (place, name) in names.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            let name = unsafe { text(name) }?;
            let id = method(name).map_err(Error::from)?.id();
            if methods.insert(id, place).is_some() {
                return Err(Failure::argument(format!(
                    "`{name}` has the number of another method of the list"
                )));
            }
        }
        let callback = handler.map(|handler| {
            let context = Context(context);
            let callback: Callback = Arc::new(move |call| {
                let (Context(context), method) = (&context, call.method);
                // Without a handle the call fails, as one without an answer.
                let Ok(call) = object::insert(Object::Arrived(call)) else { return };
                // SAFETY: C promises that the handler may be called in any thread with this context, until the service is closed.
                unsafe { handler(*context, call, method) }
            });
            (callback, threads)
        });
        if callback.is_some() && !(1..=THREADS).contains(&threads) {
            return Err(Failure::argument("a handler has 1 to 256 threads"));
        }
        let serving = Serving::new(stack, address, object::options_or_default(options)?);
        let begun = Service::begin(datapath, serving, methods, callback)?;
        out.write(0, object::insert(Object::Service(begun))?);
        Ok(())
    })
}

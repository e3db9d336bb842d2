use super::*;
use crate::{FailureKind, Verdict};
use std::ptr;

/// An engine that panics where its settings say.
#[derive(Debug)]
struct Panicking(String);

impl Panicking {
    fn panic_at(&self, place: &str) {
        assert!(self.0 != place, "as asked for");
    }
}

impl Drop for Panicking {
    fn drop(&mut self) {
        self.panic_at("drop");
    }
}

impl Engine for Panicking {
    const NAME: &'static str = "panicking";

    fn make(settings: &str, _: &Binding<'_>) -> Result<Self, String> {
        assert!(settings != "make", "as asked for");
        Ok(Self(settings.to_owned()))
    }

    fn reads(&self, _: u32) -> &str {
        self.panic_at("reads");
        "field"
    }

    fn requests(&mut self, burst: &mut Burst<'_>) {
        self.panic_at("requests");
        burst.judge(|_| Verdict::refuse(FailureKind::Denied, "no".to_owned()));
    }

    fn responses(&mut self, _: &mut Burst<'_>) {
        self.panic_at("responses");
    }

    fn configure(&mut self, _: &str) -> Result<(), String> {
        self.panic_at("configure");
        Err("never".into())
    }

    fn take_apart(&mut self) -> State<'_> {
        self.panic_at("take_apart");
        State { version: 1, bytes: self.0.as_bytes().into() }
    }

    fn restore(_: State<'_>, _: &Binding<'_>) -> Result<Self, String> {
        panic!("as asked for")
    }
}

/// A sink of bytes.
#[repr(C)]
struct Kept {
    sink: Sink,
    bytes: Vec<u8>,
}

unsafe extern "C" fn keep(sink: *mut Sink, bytes: *const u8, len: usize) {
    // SAFETY: the sink is part of a `Kept`, and the bytes are those of a slice.
    let kept = unsafe { &mut *sink.cast::<Kept>() };
    // SAFETY: as above.
    kept.bytes.extend_from_slice(unsafe { slice::from_raw_parts(bytes, len) });
}

/// Makes an engine, and returns what all of its functions return, with what they wrote.
fn all(settings: &str) -> (Vec<i32>, String) {
    let table = Exported::<Panicking>::TABLE;
    let of =
        abi::Binding { service: Text::EMPTY, caller: Text::EMPTY, methods: ptr::null(), method_count: 0 };
    let mut kept = Kept { sink: Sink { write: keep }, bytes: Vec::new() };
    let sink = ptr::from_mut(&mut kept).cast::<Sink>();
    let (mut engine, mut version) = (ptr::null_mut(), 0);
    let text = Text::of(settings.as_bytes());
    // SAFETY: the arguments are right, and there until the function returns; so with all functions.
    let mut returned = vec![unsafe { table.make.unwrap()(&raw const of, text, &raw mut engine, sink) }];
    if !engine.is_null() {
        // SAFETY: as above.
        unsafe { table.reads.unwrap()(engine, 0) };
        for work in [table.requests, table.responses] {
            let mut burst =
                abi::Burst { messages: ptr::dangling_mut(), count: 0, now: 0, held: 0, release: 0, due: 0 };
            // SAFETY: as above.
            returned.push(unsafe { work.unwrap()(engine, &raw mut burst) });
        }
        // SAFETY: as above.
        returned.push(unsafe { table.configure.unwrap()(engine, text, sink) });
        // SAFETY: as above.
        returned.push(unsafe { table.take_apart.unwrap()(engine, &raw mut version, sink) });
        // SAFETY: as above.
        unsafe { table.free.unwrap()(engine) };
    }
    // SAFETY: as above.
    returned.push(unsafe { table.restore.unwrap()(&raw const of, 1, text, &raw mut engine, sink) });
    (returned, String::from_utf8(kept.bytes).unwrap())
}

#[test]
fn a_panic_ends_at_the_interface() {
    let panicked = "the engine panicked";
    assert_eq!(all("make"), (vec![FAILED, FAILED], format!("{panicked}{panicked}")));
    assert_eq!(all("none"), (vec![DONE, DONE, DONE, FAILED, DONE, FAILED], format!("nevernone{panicked}")));
    for (place, at) in [("requests", 1), ("responses", 2), ("configure", 3), ("take_apart", 4)] {
        let (returned, _) = all(place);
        assert_eq!(returned[at], FAILED, "{place}");
        assert_eq!(returned.len(), 6);
    }
    assert_eq!(all("drop").0, all("none").0);
    assert_eq!(all("reads").0, all("none").0);
}

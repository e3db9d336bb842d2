//! The functions of C with arguments that arbitrary bytes choose, each of which must be a code. A fuzzer calls it, and so do the tests of
//! its corpus.
//!
//! The rules of C hold: what is not null is memory of the stated length. No call waits longer than a moment, no name is resolved, and no
//! file is named.
#![allow(unsafe_code, reason = "the functions are those of C")]
// SAFETY: the contract of every function is that pointers are null, or lead to memory of the stated length; `World` has
// only such pointers.
#![allow(clippy::undocumented_unsafe_blocks, reason = "the proof is the same for all, and stands above")]

use bertha_c::*;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

/// Most calls of an input.
const STEPS: usize = 64;

/// The largest code.
const LAST: c_int = bertha_code::BERTHA_CALL_UNAVAILABLE as c_int;

/// Length of the memory for results, in bytes.
const MEMORY: usize = 512;

/// A text as long as the longest memory that a function looks at, without an end that counts.
static LONG: [u8; 65_537] = [b'a'; 65_537];

/// The arguments to choose from.
struct World<'a> {
    bytes: &'a [u8],
    handles: Vec<u64>,
    buffers: Vec<Buffer>,
    /// The texts that were made of bytes, which live as long as the calls.
    text: Vec<u8>,
    results: [u64; MEMORY / 8],
    address: Vec<u8>,
}

/// Calls functions as `bytes` say, and releases what they have made.
pub(crate) fn calls(bytes: &[u8]) {
    let mut world = World {
        bytes,
        handles: Vec::new(),
        buffers: Vec::new(),
        text: Vec::new(),
        results: [0; MEMORY / 8],
        address: b"127.0.0.1:1\0".to_vec(),
    };
    for _ in 0..STEPS {
        if world.bytes.is_empty() {
            break;
        }
        let code = world.step();
        assert!((0..=LAST).contains(&code) && code != bertha_code::BERTHA_PANIC as c_int, "{code}");
        let text = unsafe { CStr::from_ptr(bertha_error_message()) };
        assert!(text.to_str().is_ok() && (code == 0 || !text.is_empty()));
    }
    for buffer in world.buffers {
        let _ = unsafe { bertha_buffer_release(&raw const buffer) };
        assert_eq!(unsafe { bertha_buffer_release(&raw const buffer) }, BAD_HANDLE);
    }
    for handle in world.handles {
        let _ = bertha_release(handle);
        assert_eq!(bertha_release(handle), BAD_HANDLE);
    }
}

const BAD_HANDLE: c_int = bertha_code::BERTHA_BAD_HANDLE as c_int;

unsafe extern "C" fn answer(_: *mut c_void, call: u64, _: usize) {
    let _ = unsafe { bertha_answer(call, null(), 0) };
}

impl World<'_> {
    fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                *first
            }
            None => 0,
        }
    }

    fn handle(&mut self) -> u64 {
        match self.byte() {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << 31,
            byte if self.handles.is_empty() => u64::from(byte),
            byte if byte < 8 => self.handles[0] ^ 1 << (8 * (byte - 3)),
            byte => self.handles[usize::from(byte) % self.handles.len()],
        }
    }

    fn time(&mut self) -> i64 {
        [0, 0, 0, 1, -2, i64::MIN][usize::from(self.byte()) % 6]
    }

    fn length(&mut self) -> usize {
        [0, 1, 7, MEMORY, usize::MAX, isize::MAX as usize + 1][usize::from(self.byte()) % 6]
    }

    /// Returns a text of a list, or of the bytes.
    fn text(&mut self, known: &[&'static [u8]]) -> *const c_char {
        match usize::from(self.byte()) {
            0 => null(),
            1 => c"\xff\xfe".as_ptr(),
            2 => LONG.as_ptr().cast(),
            3 => {
                let length = self.bytes.len().min(16);
                let (text, rest) = self.bytes.split_at(length);
                self.bytes = rest;
                self.text = text.to_vec();
                self.text.push(0);
                self.text.as_ptr().cast()
            }
            byte => known[byte % known.len()].as_ptr().cast(),
        }
    }

    fn datapath(&mut self) -> *const c_char {
        self.text(&[b"tcp\0", b"udp\0", b"tcp\0", b"topic\0"])
    }

    /// Returns an address without a name to resolve, and without a path.
    fn address(&mut self) -> *const c_char {
        match self.byte() % 7 {
            0 => null(),
            4 => c"memory:a?create=yes&subscription=b".as_ptr(),
            1 => LONG.as_ptr().cast(),
            2 => c"nonsense".as_ptr(),
            3 => self.address.as_ptr().cast(),
            _ => c"127.0.0.1:0".as_ptr(),
        }
    }

    fn stack(&mut self) -> *const c_char {
        self.text(&[b"\0", b"checksum|nothing\0", b"at-most-once,reliable\0", b"tls\0"])
    }

    /// Returns a place for results, aligned or not.
    fn place<T>(&mut self) -> *mut T {
        match self.byte() % 8 {
            0 => null_mut(),
            1 => self.results.as_mut_ptr().cast::<u8>().wrapping_add(1).cast(),
            _ => self.results.as_mut_ptr().cast(),
        }
    }

    /// Returns memory, and a length that it has or that is refused.
    fn memory(&mut self) -> (*mut c_void, usize) {
        let memory =
            if self.byte().is_multiple_of(8) { null_mut() } else { self.results.as_mut_ptr().cast() };
        (memory, self.length())
    }

    /// Keeps a handle that a function has written.
    fn keep(&mut self, code: c_int, place: *mut u64) -> c_int {
        if code == 0 {
            self.handles.push(unsafe { *place });
        }
        code
    }

    fn keep_buffers(&mut self, code: c_int, first: *const Buffer, count: usize) -> c_int {
        let count = if code == 0 { count } else { 0 };
        for number in 0..count {
            let buffer = first.wrapping_add(number);
            self.buffers.push(unsafe { *buffer });
        }
        code
    }

    fn buffer(&mut self) -> Buffer {
        let byte = usize::from(self.byte());
        let length = self.length();
        match self.buffers.get(byte) {
            Some(buffer) if length == 7 => Buffer { length, ..*buffer },
            Some(buffer) => *buffer,
            None => Buffer { data: null_mut(), length, handle: self.handle() },
        }
    }

    fn request(&mut self, entry: &mut Entry) -> Call {
        let (value, length) = self.memory();
        *entry = Entry { name: self.text(&[b"name\0", b"Name\0"]), value, length };
        let has_text_of_bytes = entry.name == self.text.as_ptr().cast::<c_char>();
        let (data, length) = self.memory();
        let method = if has_text_of_bytes { entry.name } else { self.text(&[b"a\0", b"b\0"]) };
        let entries = [0, 0, 1, usize::MAX][usize::from(self.byte()) % 4];
        let metadata = if self.byte().is_multiple_of(4) { null() } else { &raw const *entry };
        let deadline = 1 + i64::from(self.byte() % 2);
        let (has_requests, has_responses) = ((self.byte() % 2).into(), (self.byte() % 2).into());
        Call { method, data, length, metadata, entries, deadline, has_requests, has_responses }
    }

    fn step(&mut self) -> c_int {
        let step = self.byte() % 43;
        match step {
            0 => {
                let out = self.place();
                let code = unsafe { bertha_options_create(out) };
                self.keep(code, out)
            }
            1 => {
                let names: [&[u8]; 5] =
                    [b"idle-timeout\0", b"connections\0", b"upgradable\0", b"codec\0", b"nonsense\0"];
                let name = names[usize::from(self.byte()) % 5].as_ptr().cast();
                let value = self.text(&[b"yes\0", b"7\0", b"json\0", b"-1\0"]);
                unsafe { bertha_options_set(self.handle(), name, value) }
            }
            2 | 3 => {
                let (datapath, address, out) = (self.datapath(), self.address(), self.place());
                let (options, time) = (self.options(), self.time());
                let stack = self.stack_beside(datapath);
                let code = match step {
                    2 => unsafe { bertha_connect(datapath, address, stack, options, time, out) },
                    _ => unsafe { bertha_connect_start(datapath, address, stack, options, out) },
                };
                self.keep(code, out)
            }
            4 => {
                let (handle, time, out) = (self.handle(), self.time(), self.place());
                let code = unsafe { bertha_connect_finish(handle, time, out) };
                self.keep(code, out)
            }
            5 | 6 => {
                let (datapath, address, out) = (self.datapath(), self.address(), self.place());
                let options = self.options();
                let stack = self.stack_beside(datapath);
                let code = unsafe { bertha_listen(datapath, address, stack, options, out) };
                self.keep(code, out);
                self.remember_address();
                code
            }
            7 => {
                let (handle, time, out) = (self.handle(), self.time(), self.place());
                let code = unsafe { bertha_accept(handle, time, out) };
                self.keep(code, out)
            }
            8 => {
                let ((data, length), handle, time) = (self.memory(), self.handle(), self.time());
                unsafe { bertha_send(handle, data, length, time) }
            }
            9 => {
                let ((data, capacity), handle, time) = (self.memory(), self.handle(), self.time());
                let mut length = 0;
                unsafe { bertha_receive(handle, data, capacity, &raw mut length, time) }
            }
            10 => {
                let (handle, size, out) = (self.handle(), self.length(), self.place());
                let code = unsafe { bertha_buffer_create(handle, size, out) };
                self.keep_buffers(code, out, 1)
            }
            11 => {
                let buffer = self.buffer();
                unsafe { bertha_buffer_release(&raw const buffer) }
            }
            12 => {
                let (handle, time, out) = (self.handle(), self.time(), self.place());
                let code = unsafe { bertha_receive_buffer(handle, out, time) };
                self.keep_buffers(code, out, 1)
            }
            13 => {
                let (buffer, handle, time) = (self.buffer(), self.handle(), self.time());
                unsafe { bertha_send_buffer(handle, &raw const buffer, time) }
            }
            14 => {
                let buffers = [self.buffer(), self.buffer()];
                let count = [0, 1, 2, usize::MAX][usize::from(self.byte()) % 4];
                let (handle, time) = (self.handle(), self.time());
                unsafe { bertha_send_burst(handle, buffers.as_ptr(), count, time) }
            }
            15 => {
                let (handle, time, out) = (self.handle(), self.time(), self.place());
                let capacity = [0, 1, 4, usize::MAX][usize::from(self.byte()) % 4];
                let mut count = 0;
                let code = unsafe { bertha_receive_burst(handle, out, capacity, &raw mut count, time) };
                self.keep_buffers(code, out, count)
            }
            16 => bertha_drain(self.handle(), self.time()),
            17 => bertha_close(self.handle(), self.time()),
            18 => bertha_upgrade(self.handle(), self.byte().into(), self.time()),
            19..=24 => {
                let ((text, capacity), handle, mut length) = (self.memory(), self.handle(), 0);
                let told = match step {
                    19 => bertha_explain,
                    20 => bertha_statistics_text,
                    21 => bertha_peer_address,
                    22 => bertha_local_address,
                    23 => bertha_peer_identity,
                    _ => bertha_listener_address,
                };
                let place = if self.byte().is_multiple_of(8) { null_mut() } else { &raw mut length };
                unsafe { told(handle, text.cast(), capacity, place) }
            }
            25 => unsafe { bertha_statistics(self.handle(), self.place()) },
            26 => unsafe { bertha_descriptor(self.handle(), self.place()) },
            27 => {
                let (datapath, address, out) = (self.datapath(), self.address(), self.place());
                let (options, time) = (self.options(), self.time());
                let stack = self.stack_beside(datapath);
                let code = unsafe { bertha_client(datapath, address, stack, options, time, out) };
                self.keep(code, out)
            }
            28 | 29 => {
                let mut entry = Entry { name: null(), value: null(), length: 0 };
                let (request, handle) = (self.request(&mut entry), self.handle());
                if step == 28 {
                    let out = self.place();
                    let code = unsafe { bertha_call(handle, &raw const request, out) };
                    return self.keep_buffers(code, out, 1);
                }
                let out = self.place();
                let code = unsafe { bertha_call_start(handle, &raw const request, out) };
                self.keep(code, out)
            }
            30 => {
                let (handle, time, out) = (self.handle(), self.time(), self.place());
                let code = unsafe { bertha_call_receive(handle, out, time) };
                self.keep_buffers(code, out, 1)
            }
            31 => {
                let ((data, length), handle, time) = (self.memory(), self.handle(), self.time());
                unsafe { bertha_call_send(handle, data, length, time) }
            }
            32 => bertha_call_end(self.handle()),
            33 | 34 => self.serve(),
            35 => unsafe { bertha_call_arrival(self.handle(), self.place()) },
            36 => {
                let ((value, capacity), handle) = (self.memory(), self.handle());
                let name = self.text(&[b"name\0"]);
                let mut length = 0;
                unsafe { bertha_call_metadata(handle, name, value, capacity, &raw mut length) }
            }
            37 => {
                let ((data, length), handle) = (self.memory(), self.handle());
                unsafe { bertha_answer(handle, data, length) }
            }
            38 => {
                let (code, handle) = (c_int::from(self.byte()) - 1, self.handle());
                unsafe { bertha_fail(handle, code, self.text(&[b"why\0"])) }
            }
            39 => {
                let _ = (bertha_error_ends_connection(), bertha_error_may_have_run(), bertha_version());
                let name = unsafe { CStr::from_ptr(bertha_code_name(c_int::from(self.byte()) - 99)) };
                assert!(!name.is_empty());
                0
            }
            40 => {
                let buffer = self.buffer();
                unsafe { bertha_acknowledge(&raw const buffer) }
            }
            41 => {
                let ((value, length), handle) = (self.memory(), self.handle());
                let entry = Entry { name: self.text(&[b"name\0", b"Name\0"]), value, length };
                let place = if self.byte().is_multiple_of(8) { null() } else { &raw const entry };
                unsafe { bertha_call_add_metadata(handle, place) }
            }
            _ => bertha_release(self.handle()),
        }
    }

    /// Returns no options in most cases.
    fn options(&mut self) -> u64 {
        if self.byte().is_multiple_of(4) { self.handle() } else { 0 }
    }

    /// Returns a stack, of bytes only if the datapath is not of bytes: there is one text of bytes at a time.
    fn stack_beside(&mut self, datapath: *const c_char) -> *const c_char {
        if datapath == self.text.as_ptr().cast::<c_char>() { c"".as_ptr() } else { self.stack() }
    }

    fn serve(&mut self) -> c_int {
        let names: [*const c_char; 3] = [c"a".as_ptr(), c"b".as_ptr(), self.text(&[b"c\0", b"a\0"])];
        let count = [1, 2, 3, usize::MAX][usize::from(self.byte()) % 4];
        let names = if self.byte().is_multiple_of(8) { null() } else { names.as_ptr() };
        let handler: Handler = if self.byte().is_multiple_of(2) { Some(answer) } else { None };
        let threads = [1, 2, 0, u32::MAX][usize::from(self.byte()) % 4];
        let methods = Methods { names, count, handler, context: null_mut(), threads };
        let place = if self.byte().is_multiple_of(8) { null() } else { &raw const methods };
        let (address, options, out) = (self.address(), self.options(), self.place());
        let code = unsafe { bertha_serve(c"tcp".as_ptr(), address, c"".as_ptr(), options, place, out) };
        self.keep(code, out);
        self.remember_address();
        code
    }

    /// Lets later calls connect to what listens.
    fn remember_address(&mut self) {
        let Some(listener) = self.handles.last() else { return };
        let (mut text, mut length) = (vec![0_u8; 64], 0);
        let place = text.as_mut_ptr().cast();
        if unsafe { bertha_listener_address(*listener, place, text.len(), &raw mut length) } == 0 {
            self.address = text;
        }
    }
}

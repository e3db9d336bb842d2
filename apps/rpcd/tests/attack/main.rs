//! Attacks on the daemon, beside which honest applications have to go on.
#![allow(unsafe_code)]
#![allow(dead_code, clippy::print_stdout, reason = "an attack tells what it did")]
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod any_bytes;
mod death;
mod denied;
mod descriptors;
mod few_descriptors;
mod growth;
mod hellos;
#[path = "../hotel/mod.rs"]
mod hotel;
mod memory;
mod names;
mod other_users;
mod policies;
mod queues;
mod received;
mod refused;
mod schemas;
mod servers;
mod silence;
mod wire;

use bertha_chunnels::rpc::FailureKind;
use bertha_core::Buf;
use bertha_datapath_shm::ring::{Consumer, Direction, Layout, Producer};
use bertha_managed::application::{Attach, Client, Server};
use bertha_managed::attach::{Answer, Grow, Hello, Role};
use bertha_managed::engines::built_in;
use bertha_managed::{Descriptor, Done, InHeap, Method, Service};
use bertha_rpcd::Change;
use bertha_runtime::tokio::descriptors::receive;
use hotel::{Empty, Hotel, OtherHotel, Ping, Reserve, Running, request, serve};
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto,
    OneofDescriptorProto, ServiceDescriptorProto,
};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::{Errno, pwrite};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mprotect, munmap};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, sendmsg};
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(20);
const BASE: u64 = 1 << 40;
/// The address of the first byte of the first region.
const FIRST: u64 = BASE + (64 << 10);

/// Memory of a file.
struct Mapped {
    at: *mut std::ffi::c_void,
    bytes: usize,
}

// SAFETY: it is reached by atomics alone.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    fn new(file: impl AsFd, bytes: usize) -> Self {
        Self::with(file, bytes, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// Maps memory of a daemon, which its receiver can't write, whatever it tries.
    fn read_only(file: impl AsFd, bytes: usize) -> Self {
        let (both, refused) = (ProtFlags::READ | ProtFlags::WRITE, Err(Errno::PERM));
        // SAFETY: the kernel chooses the place.
        let writable = unsafe { mmap(std::ptr::null_mut(), bytes, both, MapFlags::SHARED, &file, 0) };
        assert_eq!((writable.map(|_| 0), pwrite(&file, b"x", 0)), (refused, refused));
        let mapped = Self::with(file, bytes, ProtFlags::READ);
        // SAFETY: nothing refers to the memory yet.
        let changed = unsafe { mprotect(mapped.at, bytes, MprotectFlags::READ | MprotectFlags::WRITE) };
        assert_eq!(changed, Err(Errno::ACCESS));
        mapped
    }

    fn with(file: impl AsFd, bytes: usize, access: ProtFlags) -> Self {
        // SAFETY: the kernel chooses the place.
        let at = unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, file, 0) }.unwrap();
        Self { at, bytes }
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the memory is mapped as long as this lives.
        unsafe { std::slice::from_raw_parts(self.at.cast(), self.bytes / 8) }
    }

    /// Writes whole words.
    fn write(&self, at: u64, words: &[u64]) {
        for (word, value) in self.words()[(at - FIRST) as usize / 8..].iter().zip(words) {
            word.store(*value, Ordering::Relaxed);
        }
    }

    fn write_text(&self, at: u64, text: &[u8]) {
        let words: Vec<_> = text
            .chunks(8)
            .map(|part| part.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
            .collect();
        self.write(at, &words);
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: nothing uses it any more.
        unsafe { munmap(self.at, self.bytes) }.unwrap();
    }
}

fn reference(at: u64, len: u32) -> [u64; 2] {
    [at, u64::from(len) << 32 | u64::from(len)]
}

fn send_with(socket: &UnixStream, bytes: &[u8], files: &[BorrowedFd<'_>]) -> rustix::io::Result<usize> {
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(files)));
    sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)
}

fn memfd(bytes: usize, seals: SealFlags) -> OwnedFd {
    let file = memfd_create("attack", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&file, bytes as u64).unwrap();
    fcntl_add_seals(&file, seals).unwrap();
    file
}

const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

fn offer_bytes(ring: u64) -> [u8; 16] {
    let mut bytes = *b"bershm\0\x0200000000";
    bytes[8..].copy_from_slice(&ring.to_le_bytes());
    bytes
}

struct Queue {
    socket: UnixStream,
    memory: Arc<Mapped>,
    layout: Layout,
    producer: Producer,
    consumer: Consumer,
}

impl Queue {
    fn offer(mut socket: UnixStream, ring: usize) -> Self {
        let layout = Layout::new(ring).unwrap();
        let file = memfd(layout.memory_bytes(), SEALS);
        send_with(&socket, &offer_bytes(ring as u64), &[file.as_fd()]).unwrap();
        let mut answer = [0; 9];
        socket.set_nonblocking(false).unwrap();
        socket.read_exact(&mut answer).unwrap();
        assert_eq!(answer[0], 1);
        let memory = Arc::new(Mapped::new(&file, layout.memory_bytes()));
        let consumer = Consumer::new(layout.longest());
        Self { socket, memory, layout, producer: Producer::default(), consumer }
    }

    fn wake(&self) {
        let _sent = rustix::net::send(&self.socket, &[0], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }

    fn is_over(&self) -> bool {
        let mut bytes = [0; 64];
        loop {
            match recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT) {
                Ok((_, 0)) => return true,
                Ok(_) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return false,
                Err(_) => return true,
            }
        }
    }

    /// Says several messages, or as many as there is room for. Returns their number.
    fn try_say(&mut self, messages: &[[u8; 64]]) -> usize {
        let ring = self.layout.ring(self.memory.words(), Direction::FromClient);
        let said = messages.iter().take_while(|message| self.producer.push(ring, &message[..]).unwrap());
        let said = said.count();
        if self.producer.publish(ring) {
            self.wake();
        }
        said
    }

    /// Says a message. Returns false if the daemon has hung up, or takes nothing for a time.
    fn say(&mut self, message: &[u8; 64]) -> bool {
        let until = Instant::now() + SOON;
        while self.try_say(&[*message]) == 0 {
            if self.is_over() || Instant::now() > until {
                return false;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        true
    }

    fn try_hear(&mut self) -> Option<Buf> {
        let ring = self.layout.ring(self.memory.words(), Direction::FromServer);
        let heard = self.consumer.pop(ring).unwrap();
        if self.consumer.release(ring, heard.is_none()) {
            self.wake();
        }
        heard
    }

    /// Waits for a descriptor, or until the daemon hangs up.
    fn hear(&mut self) -> Option<Descriptor> {
        let until = Instant::now() + SOON;
        loop {
            if let Some(bytes) = self.try_hear() {
                return Some(Descriptor::read(bytes[..].try_into().unwrap()).unwrap());
            }
            if self.is_over() {
                return None;
            }
            assert!(Instant::now() < until, "the daemon says nothing");
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Waits until the daemon has hung up. Returns false if it does not.
    fn ends(&self) -> bool {
        becomes(|| self.is_over())
    }

    /// Waits for the outcome of a call, or a request.
    fn hear_of_call(&mut self) -> Option<Descriptor> {
        loop {
            match self.hear()? {
                Descriptor::Done(_) | Descriptor::Grown { .. } | Descriptor::Cancellation { .. } => {}
                other => return Some(other),
            }
        }
    }
}

fn hello(role: Role, service: &str, descriptors: &[u8]) -> Hello {
    Hello {
        role,
        application: "attacker".into(),
        service: service.into(),
        send_heap: BASE,
        receive_heap: 2 << 40,
        descriptors: descriptors.into(),
    }
}

fn hear(socket: &UnixStream) -> Option<(Answer, Option<OwnedFd>)> {
    let mut bytes = [0; Answer::SIZE];
    let until = Instant::now() + SOON;
    loop {
        match receive(socket, &mut bytes) {
            Ok((0, _)) => return None,
            Ok((read, mut files)) => {
                assert_eq!(read, Answer::SIZE);
                return Some((Answer::read(&bytes).unwrap(), files.take_only(|_| true)));
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                assert!(Instant::now() < until, "the daemon does not answer");
                std::thread::sleep(Duration::from_micros(100));
            }
            Err(_) => return None,
        }
    }
}

struct Attacker {
    control: UnixStream,
    queue: Queue,
}

impl Attacker {
    /// Attaches as far as the daemon wants it.
    fn try_attach(path: &Path, hello: &Hello) -> Option<Self> {
        let mut control = UnixStream::connect(path).unwrap();
        control.write_all(&hello.to_bytes().unwrap()).ok()?;
        let (Answer::Taken, Some(queue)) = hear(&control)? else { return None };
        Some(Self { control, queue: Queue::offer(queue.into(), 64 << 10) })
    }

    fn attach(path: &Path, hello: &Hello) -> Self {
        Self::try_attach(path, hello).unwrap()
    }

    /// Gets a region of the send heap.
    fn grow(&mut self, bytes: usize) -> Option<Mapped> {
        self.control.write_all(&Grow { bytes: bytes as u64 }.to_bytes()).unwrap();
        loop {
            match hear(&self.control)? {
                (Answer::Granted { .. }, Some(file)) => return Some(Mapped::new(file, bytes)),
                (Answer::Lent { .. }, _) => {}
                _ => return None,
            }
        }
    }
}

fn ask(call: u64, method: u32, at: u64) -> [u8; 64] {
    ask_within(call, method, at, 0)
}

fn ask_within(call: u64, method: u32, at: u64, milliseconds: u32) -> [u8; 64] {
    let message = InHeap { at, bytes: 40, number: call as u32 };
    Descriptor::Request { call, method, message, milliseconds, trace: None }.to_bytes()
}

fn cancel(call: u64) -> [u8; 64] {
    Descriptor::Cancellation { call }.to_bytes()
}

/// Returns the number of calls of an attack, of which `scripts/night` makes a million.
fn attack_calls(by_default: u64) -> u64 {
    std::env::var("ATTACK_CALLS").map_or(by_default, |calls| calls.parse().unwrap())
}

/// Gives a message back that an attacker has read.
fn give_back(queue: &mut Queue, number: u32) {
    let mut done = Done::default();
    done.push(number);
    queue.say(&Descriptor::Done(done).to_bytes());
}

/// A stream of numbers that is the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

fn field(number: i32, name: &str, kind: Type, label: Label, of: &str) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        label: Some(label as i32),
        r#type: Some(kind as i32),
        type_name: (!of.is_empty()).then(|| of.into()),
        ..Default::default()
    }
}

fn message(name: &str, field: Vec<FieldDescriptorProto>) -> DescriptorProto {
    DescriptorProto { name: Some(name.into()), field, ..Default::default() }
}

fn file(
    messages: Vec<DescriptorProto>,
    service: &str,
    methods: &[(String, String, String)],
) -> FileDescriptorProto {
    let method = methods
        .iter()
        .map(|(name, request, response)| MethodDescriptorProto {
            name: Some(name.clone()),
            input_type: Some(request.clone()),
            output_type: Some(response.clone()),
            ..Default::default()
        })
        .collect();
    FileDescriptorProto {
        name: Some("a.proto".into()),
        package: Some("a".into()),
        syntax: Some("proto3".into()),
        message_type: messages,
        service: vec![ServiceDescriptorProto { name: Some(service.into()), method, ..Default::default() }],
        ..Default::default()
    }
}

fn schema(messages: Vec<DescriptorProto>, methods: &[(&str, &str, &str)]) -> Vec<u8> {
    let methods: Vec<_> = methods
        .iter()
        .map(|(name, request, response)| ((*name).into(), (*request).into(), (*response).into()))
        .collect();
    FileDescriptorSet { file: vec![file(messages, "A", &methods)] }.encode_to_vec()
}

/// A message with one of each kind of field, that holds itself.
fn node() -> DescriptorProto {
    use Label::{Optional, Repeated};
    let mut fields = vec![
        field(1, "children", Type::Message, Repeated, ".a.Node"),
        field(2, "next", Type::Message, Optional, ".a.Node"),
        field(3, "empties", Type::Message, Repeated, ".a.Empty"),
        field(4, "flag", Type::Bool, Optional, ""),
        field(5, "maybe", Type::Bool, Optional, ""),
        field(6, "text", Type::String, Optional, ""),
        field(7, "no", Type::Bool, Optional, ""),
        field(8, "flags", Type::Bool, Repeated, ""),
    ];
    fields[4].proto3_optional = Some(true);
    fields[4].oneof_index = Some(1);
    fields[5].oneof_index = Some(0);
    fields[6].oneof_index = Some(0);
    let choice = |name: &str| OneofDescriptorProto { name: Some(name.into()), ..Default::default() };
    DescriptorProto { oneof_decl: vec![choice("choice"), choice("_maybe")], ..message("Node", fields) }
}

/// The structure of a node, with plain numbers.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Node {
    bits: u64,
    choice: u32,
    rest: u32,
    children: [u64; 2],
    next: u64,
    empties: [u64; 2],
    flag: u8,
    maybe: u8,
    gap: [u8; 6],
    text: [u64; 2],
    no: u8,
    other_gap: [u8; 7],
    flags: [u64; 2],
}

const NODE_WORDS: usize = size_of::<Node>() / 8;

impl Node {
    fn words(&self) -> [u64; NODE_WORDS] {
        // SAFETY: both consist of plain numbers without gaps.
        unsafe { std::mem::transmute_copy(self) }
    }
}

#[derive(Debug)]
struct Nodes;

fn nodes() -> Vec<u8> {
    schema(vec![message("Empty", vec![]), node()], &[("Put", ".a.Node", ".a.Node")])
}

// SAFETY: the structure has only numbers, in the order of the schema.
unsafe impl Service for Nodes {
    const NAME: &'static str = "a.A";
    fn descriptors() -> &'static [u8] {
        static SCHEMA: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        SCHEMA.get_or_init(nodes)
    }
}

#[derive(Debug)]
struct Put;

// SAFETY: the only method.
unsafe impl Method for Put {
    type Service = Nodes;
    type Request = Node;
    type Response = Node;
    const NAME: &'static str = "Put";
    const NUMBER: u32 = 0;
}

struct Process {
    child: Child,
    path: PathBuf,
    folder: Option<tempfile::TempDir>,
}

impl Process {
    fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rpcd");
        let mut process = Self::at(path, arguments, None, None);
        process.folder = Some(folder);
        process
    }

    fn at(path: PathBuf, arguments: &[&str], user: Option<u32>, limit: Option<&str>) -> Self {
        let limit = limit.map_or(String::new(), |limit| format!("ulimit {limit}; "));
        let errors = path.with_extension("log");
        let errors = std::fs::File::options().create(true).append(true).open(errors).unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("{limit}exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_bertha-rpcd")]);
        command.arg("--socket").arg(&path).args(arguments);
        command.stdout(Stdio::null()).stderr(errors).stdin(Stdio::null());
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let child = command.spawn().unwrap();
        let until = Instant::now() + SOON;
        while UnixStream::connect(&path).is_err() {
            assert!(Instant::now() < until, "the daemon does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
        Self { child, path, folder: None }
    }

    fn of(&self, what: &str) -> PathBuf {
        format!("/proc/{}/{what}", self.child.id()).into()
    }

    fn files(&self) -> usize {
        std::fs::read_dir(self.of("fd")).unwrap().count()
    }

    fn mappings(&self) -> usize {
        std::fs::read_to_string(self.of("maps")).unwrap().lines().count()
    }

    /// Returns the resident memory in KiB.
    fn memory(&self) -> u64 {
        self.status("VmRSS")
    }

    /// Returns the largest resident memory so far in KiB.
    fn most_memory(&self) -> u64 {
        self.status("VmHWM")
    }

    fn status(&self, of: &str) -> u64 {
        let status = std::fs::read_to_string(self.of("status")).unwrap();
        let line = status.lines().find(|line| line.starts_with(of)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    fn threads(&self) -> usize {
        std::fs::read_dir(self.of("task")).unwrap().count()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path.with_extension("log")).unwrap()
    }

    fn attach(&self) -> Attach {
        Attach::new(&self.path, "honest")
    }

    /// Waits until the daemon has so few files.
    fn settles(&self, files: usize) -> bool {
        becomes(|| self.files() <= files)
    }

    /// Waits until the daemon has so few mappings: what a party had is unmapped behind its files, and threads end, with their stacks, when
    /// they have had nothing to do for ten seconds.
    fn unmaps(&self, mappings: usize) -> bool {
        becomes(|| self.mappings() <= mappings)
    }
}

fn becomes(is_so: impl Fn() -> bool) -> bool {
    let until = Instant::now() + SOON;
    while !is_so() {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

impl Drop for Process {
    fn drop(&mut self) {
        let died = self.child.try_wait().unwrap();
        let _killed = self.child.kill();
        let _ended = self.child.wait();
        if !std::thread::panicking() {
            assert!(died.is_none(), "the daemon ended: {died:?}\n{}", self.log());
            assert!(!self.log().contains("panicked"), "{}", self.log());
        }
    }
}

/// Calls that have to succeed, in good time.
async fn works(client: &Client<Hotel>, calls: i32) {
    for nights in 0..calls {
        let asked = request(&client.heap(), "ada", nights, &["guest"]);
        let response = client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
        assert_eq!((response.room.as_str(), response.price), ("ada: guest", 100 * nights));
    }
}

/// Calls all the time until told to stop, and notes the longest time.
fn watch(client: Client<Hotel>) -> (Arc<AtomicBool>, tokio::task::JoinHandle<(u64, Duration)>) {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let task = tokio::spawn(async move {
        let (mut calls, mut longest) = (0, Duration::ZERO);
        // The last call begins when the attack is over.
        loop {
            let is_last = stopped.load(Ordering::Relaxed);
            let begun = Instant::now();
            works(&client, 1).await;
            longest = longest.max(begun.elapsed());
            calls += 1;
            if is_last {
                return (calls, longest);
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    });
    (stop, task)
}

/// Runs an attack on a thread while an honest client calls. Returns the longest time of a call.
async fn beside<R: Send + 'static>(
    name: &str,
    client: Client<Hotel>,
    attack: impl FnOnce() -> R + Send + 'static,
) -> (R, Duration) {
    let (stop, watching) = watch(client);
    tokio::time::sleep(Duration::from_millis(20)).await;
    let begun = Instant::now();
    let done = tokio::task::spawn_blocking(attack).await.unwrap();
    let took = begun.elapsed();
    stop.store(true, Ordering::Relaxed);
    let (calls, longest) = watching.await.unwrap();
    println!("{name}: attack of {took:?}; {calls} honest calls, the longest {longest:?}");
    (done, longest)
}

async fn client(path: &Path) -> Client<Hotel> {
    Attach::new(path, "honest").client("hotel").await.unwrap()
}

async fn server(path: &Path) -> Server<Hotel> {
    Attach::new(path, "honest").server("hotel").await.unwrap()
}

//! Attacks on the daemon, beside which honest applications have to go on.
#![allow(unsafe_code)]
#![allow(dead_code, clippy::print_stdout, reason = "an attack tells what it did")]
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod hotel;

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
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
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

// ---------------------------------------------------------------- a malicious application

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
        let access = ProtFlags::READ | ProtFlags::WRITE;
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
    memory: Mapped,
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
        let memory = Mapped::new(&file, layout.memory_bytes());
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
    Descriptor::Request { call, method, message, milliseconds }.to_bytes()
}

fn cancel(call: u64) -> [u8; 64] {
    Descriptor::Cancellation { call }.to_bytes()
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

// ---------------------------------------------------------------- schemas

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

// ---------------------------------------------------------------- the daemon as a process

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

    fn at(path: PathBuf, arguments: &[&str], user: Option<u32>, files: Option<u32>) -> Self {
        let limit = files.map_or(String::new(), |files| format!("ulimit -n {files}; "));
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
        let status = std::fs::read_to_string(self.of("status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
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
        let until = Instant::now() + SOON;
        while self.files() > files {
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }
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

// ---------------------------------------------------------------- honest applications

/// Calls that have to succeed, in good time.
async fn works(client: &Client<Hotel>, calls: i32) {
    for nights in 0..calls {
        let asked = request(client.heap(), "ada", nights, &["guest"]);
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
        while !stopped.load(Ordering::Relaxed) {
            let begun = Instant::now();
            works(&client, 1).await;
            longest = longest.max(begun.elapsed());
            calls += 1;
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        (calls, longest)
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

// ---------------------------------------------------------------- attacks: hellos

#[tokio::test(flavor = "multi_thread")]
async fn hellos_cut_and_changed() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let (path, files) = (daemon.path.clone(), daemon.files());
    let ((), _) = beside("hellos", honest, move || {
        let good = hello(Role::Caller, "hotel", Hotel::descriptors()).to_bytes().unwrap();
        let mut random = Random(1);
        for length in 0..=good.len() {
            let mut socket = UnixStream::connect(&path).unwrap();
            let _said = socket.write_all(&good[..length]);
            if length % 2 == 0 {
                socket.shutdown(std::net::Shutdown::Write).unwrap();
                let _end = socket.read_to_end(&mut Vec::new());
            }
        }
        for _ in 0..3000 {
            let mut bytes = good.clone();
            for _ in 0..=random.below(4) {
                let at =
                    if random.below(2) == 0 { random.below(48) } else { random.below(good.len() as u64) };
                bytes[at as usize] = random.next() as u8;
            }
            let mut socket = UnixStream::connect(&path).unwrap();
            let _said = socket.write_all(&bytes);
            socket.shutdown(std::net::Shutdown::Write).unwrap();
            let _end = socket.read_to_end(&mut Vec::new());
        }
    })
    .await;
    assert!(daemon.settles(files), "{} files instead of {files}", daemon.files());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hello_that_drips_ends() {
    let daemon = Process::start(&[]);
    let path = daemon.path.clone();
    let took = tokio::task::spawn_blocking(move || {
        let mut socket = UnixStream::connect(&path).unwrap();
        let begun = Instant::now();
        let good = hello(Role::Caller, "hotel", Hotel::descriptors()).to_bytes().unwrap();
        for byte in &good {
            if socket.write_all(&[*byte]).is_err() || begun.elapsed() > SOON {
                break;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        begun.elapsed()
    })
    .await
    .unwrap();
    println!("drip: {took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_an_application_sends() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let (path, files) = (daemon.path.clone(), daemon.files());
    let ((), _) = beside("files", honest, move || {
        let good = hello(Role::Caller, "hotel", Hotel::descriptors()).to_bytes().unwrap();
        let null = std::fs::File::open("/dev/null").unwrap();
        let many = vec![null.as_fd(); 253];
        for _ in 0..20 {
            let socket = UnixStream::connect(&path).unwrap();
            let _sent = send_with(&socket, &good, &many);
            if let Some((Answer::Taken, Some(queue))) = hear(&socket) {
                let queue: UnixStream = queue.into();
                let _sent = send_with(&socket, &Grow { bytes: 65536 }.to_bytes(), &many);
                let layout = Layout::new(65536).unwrap();
                let memory = memfd(layout.memory_bytes(), SEALS);
                let mut many = many.clone();
                many[252] = memory.as_fd();
                let _sent = send_with(&queue, &offer_bytes(65536), &many);
                std::thread::sleep(Duration::from_millis(5));
                let _sent = send_with(&queue, &[0], &many);
            }
            let socket = UnixStream::connect(&path).unwrap();
            let _sent = send_with(&socket, &[1], &[socket.as_fd()]);
        }
        let layout = Layout::new(65536).unwrap();
        let bytes = layout.memory_bytes();
        let (one, _other) = UnixStream::pair().unwrap();
        let folder = std::fs::File::open("/tmp").unwrap();
        let read_only = {
            use std::os::fd::AsRawFd;
            let file = memfd(bytes, SEALS);
            std::fs::File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap()
        };
        let wrong: Vec<OwnedFd> = vec![
            null.into(),
            one.into(),
            folder.into(),
            read_only.into(),
            memfd(bytes, SealFlags::empty()),
            memfd(bytes, SEALS | SealFlags::WRITE),
            memfd(bytes, SEALS | SealFlags::FUTURE_WRITE),
            memfd(0, SEALS),
            memfd(bytes + 4096, SEALS),
            memfd(bytes, SealFlags::SHRINK),
        ];
        for file in &wrong {
            for ring in [65536, 0, 1, u64::MAX, 64 << 20, 65537] {
                let mut control = UnixStream::connect(&path).unwrap();
                control.write_all(&good).unwrap();
                let Some((Answer::Taken, Some(queue))) = hear(&control) else { panic!() };
                let queue: UnixStream = queue.into();
                send_with(&queue, &offer_bytes(ring), &[file.as_fd()]).unwrap();
                let mut answer = [0; 9];
                queue.set_nonblocking(false).unwrap();
                queue.set_read_timeout(Some(SOON)).unwrap();
                let heard = (&queue).read(&mut answer).unwrap();
                assert!(heard == 0 || answer[0] != 1, "{file:?}, {ring}");
            }
        }
    })
    .await;
    assert!(daemon.settles(files), "{} files instead of {files}", daemon.files());
}

#[tokio::test(flavor = "multi_thread")]
async fn more_connections_than_the_daemon_has_files() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Process::at(folder.path().join("rpcd"), &[], None, Some(200));
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let (path, files) = (daemon.path.clone(), daemon.files());
    let ((), _) = beside("connections", honest, move || {
        let attacking = Instant::now();
        let mut taken = Vec::new();
        while attacking.elapsed() < Duration::from_secs(3) {
            let mut control = UnixStream::connect(&path).unwrap();
            let good = hello(Role::Caller, "hotel", Hotel::descriptors()).to_bytes().unwrap();
            let _said = control.write_all(&good);
            control.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
            taken.push(control);
            if taken.len() == 400 {
                std::thread::sleep(Duration::from_secs(2));
            }
            if taken.len() > 400 {
                break;
            }
        }
    })
    .await;
    assert!(daemon.settles(files), "{} files instead of {files}", daemon.files());
    works(&client(&daemon.path).await, 3).await;
    println!("{}", daemon.log().lines().count());
}

#[tokio::test(flavor = "multi_thread")]
async fn half_open_attachments() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let (path, files) = (daemon.path.clone(), daemon.files());
    let ((), _) = beside("half open", honest, move || {
        // A name is claimed by one that offers no queue, and is free soon.
        let begun = Instant::now();
        let mut control = UnixStream::connect(&path).unwrap();
        let bytes = hello(Role::Server, "squat", Hotel::descriptors()).to_bytes().unwrap();
        control.write_all(&bytes).unwrap();
        let (Answer::Taken, queue) = hear(&control).unwrap() else { panic!() };
        loop {
            if Attacker::try_attach(&path, &hello(Role::Server, "squat", Hotel::descriptors())).is_some() {
                break;
            }
            assert!(begun.elapsed() < SOON, "the name is never free");
            std::thread::sleep(Duration::from_millis(20));
        }
        println!("a name without a queue is free after {:?}", begun.elapsed());
        drop((control, queue));
        // The control ends, the queue does not; and the other way around.
        for _ in 0..50 {
            let attacker = Attacker::attach(&path, &hello(Role::Server, "squat", Hotel::descriptors()));
            let Attacker { control, queue } = attacker;
            drop(control);
            let until = Instant::now() + SOON;
            while !queue.is_over() {
                assert!(Instant::now() < until);
                std::thread::sleep(Duration::from_millis(1));
            }
            drop(queue);
            let attacker = loop {
                let attacker =
                    Attacker::try_attach(&path, &hello(Role::Server, "squat", Hotel::descriptors()));
                if let Some(attacker) = attacker {
                    break attacker;
                }
                assert!(Instant::now() < until);
            };
            let Attacker { mut control, queue } = attacker;
            drop(queue);
            control.set_read_timeout(Some(SOON)).unwrap();
            let _end = control.read_to_end(&mut Vec::new());
            loop {
                if let Some(attacker) =
                    Attacker::try_attach(&path, &hello(Role::Server, "squat", Hotel::descriptors()))
                {
                    drop(attacker);
                    break;
                }
                assert!(Instant::now() < until);
            }
            // The name has to be free before the next round.
            while Attacker::try_attach(&path, &hello(Role::Server, "squat", Hotel::descriptors())).is_none() {
                assert!(Instant::now() < until);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // Only the writing half is shut.
        let attacker = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
        attacker.control.shutdown(std::net::Shutdown::Write).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        // A part of a growth, and then nothing.
        let mut attacker = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
        attacker.control.write_all(&[1, 2, 3]).unwrap();
        std::thread::sleep(Duration::from_millis(100));
    })
    .await;
    assert!(daemon.settles(files), "{} files instead of {files}", daemon.files());
}

// ---------------------------------------------------------------- attacks: schemas

fn worst_schemas() -> Vec<(&'static str, Vec<u8>)> {
    use Label::{Optional, Repeated};
    let empty = || message("Empty", vec![]);
    let mut list = Vec::new();
    let wide = (1..=16_000)
        .map(|number| {
            let number = if number >= 19_000 { number + 1000 } else { number };
            field(number, &format!("f{number}"), Type::Bool, Optional, "")
        })
        .collect();
    list.push(("16,000 fields", schema(vec![message("M", wide)], &[("P", ".a.M", ".a.M")])));
    let mut choices = message("M", vec![]);
    for number in 1..=9_000 {
        let mut one = field(number, &format!("f{number}"), Type::Bool, Optional, "");
        one.oneof_index = Some(number - 1);
        choices.field.push(one);
        choices
            .oneof_decl
            .push(OneofDescriptorProto { name: Some(format!("o{number}")), ..Default::default() });
    }
    list.push(("9,000 choices", schema(vec![choices], &[("P", ".a.M", ".a.M")])));
    let messages: Vec<_> = (0..4_000)
        .map(|number| {
            let other = |number: i32| format!(".a.M{}", number % 4_000);
            message(
                &format!("M{number}"),
                vec![
                    field(1, "x", Type::Message, Optional, &other(number + 1)),
                    field(2, "y", Type::Message, Repeated, &other(number + 2)),
                    field(3, "z", Type::Message, Repeated, &other(number * 7)),
                ],
            )
        })
        .collect();
    list.push(("4,000 messages in circles", schema(messages, &[("P", ".a.M0", ".a.M0")])));
    let methods: Vec<_> =
        (0..20_000).map(|number| (format!("P{number}"), ".a.Empty".into(), ".a.Empty".into())).collect();
    list.push((
        "20,000 methods",
        FileDescriptorSet { file: vec![file(vec![empty()], "A", &methods)] }.encode_to_vec(),
    ));
    let twice = vec![
        field(1, "a", Type::Bool, Optional, ""),
        field(1, "b", Type::Bool, Optional, ""),
        field(i32::MAX, "c", Type::Bool, Optional, ""),
        field(-1, "d", Type::Bool, Optional, ""),
    ];
    list.push(("numbers twice", schema(vec![message("M", twice)], &[("P", ".a.M", ".a.M")])));
    // Nesting without end in bytes: each level wraps the previous as a field 3 (nested_type).
    let mut bytes: Vec<u8> = Vec::new();
    for _ in 0..40_000 {
        let mut outer = vec![0x1a];
        prost::encoding::encode_varint(bytes.len() as u64, &mut outer);
        if outer.len() + bytes.len() > 900_000 {
            break;
        }
        outer.extend(&bytes);
        bytes = outer;
    }
    let mut set = vec![0x22];
    prost::encoding::encode_varint(bytes.len() as u64, &mut set);
    set.extend(&bytes);
    let mut all = vec![0x0a];
    prost::encoding::encode_varint(set.len() as u64, &mut all);
    all.extend(&set);
    list.push(("levels to the end", all));
    // Groups, which are skipped.
    list.push(("groups", vec![0x0b; 1 << 20]));
    let long = "x".repeat(500_000);
    list.push((
        "a long name",
        schema(vec![message("M", vec![field(1, &long, Type::Bool, Optional, "")])], &[("P", ".a.M", ".a.M")]),
    ));
    let many_enums = {
        let values: Vec<_> = (0..16_000)
            .map(|number| prost_types::EnumValueDescriptorProto {
                name: Some(format!("V{number}")),
                number: Some(number),
                options: None,
            })
            .collect();
        let mut schema = file(
            vec![message("M", vec![field(1, "e", Type::Enum, Optional, ".a.E")])],
            "A",
            &[("P".into(), ".a.M".into(), ".a.M".into())],
        );
        schema.enum_type = vec![prost_types::EnumDescriptorProto {
            name: Some("E".into()),
            value: values,
            ..Default::default()
        }];
        FileDescriptorSet { file: vec![schema] }.encode_to_vec()
    };
    list.push(("16,000 values", many_enums));
    list
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_of_every_bad_kind() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    works(&client(&daemon.path).await, 1).await;
    let memory = daemon.memory();
    let files = daemon.files();
    for (name, bytes) in worst_schemas() {
        let path = daemon.path.clone();
        let length = bytes.len();
        let honest = client(&daemon.path).await;
        let (taken, longest) = beside(name, honest, move || {
            let mut taken = 0;
            for _ in 0..2 {
                taken += Attacker::try_attach(&path, &hello(Role::Caller, "evil", &bytes)).map_or(0, |_| 1);
            }
            taken
        })
        .await;
        println!("  {length} bytes, taken {taken} times");
        assert!(longest < Duration::from_secs(2), "{name}: {longest:?}");
    }
    assert!(daemon.settles(files));
    println!("memory {memory} -> {} KiB", daemon.memory());
}

/// Two schemas whose first difference is long; each call fails by it.
#[tokio::test(flavor = "multi_thread")]
async fn differences_of_schemas_that_are_long() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    let of = |last: &str| {
        let mut fields: Vec<_> = (1..=15_000)
            .map(|number| field(number, &format!("f{number}"), Type::Bool, Label::Optional, ""))
            .collect();
        fields.push(field(15_001, last, Type::Bool, Label::Optional, ""));
        schema(vec![message("M", fields)], &[("P", ".a.M", ".a.M")])
    };
    let (one, other) = (of(&"x".repeat(200)), of(&"y".repeat(200)));
    let (count, longest) = beside("differences", honest, move || {
        let _server = Attacker::attach(&path, &hello(Role::Server, "evil", &one));
        let mut caller = Attacker::attach(&path, &hello(Role::Caller, "evil", &other));
        let _region = caller.grow(1 << 20).unwrap();
        let begun = Instant::now();
        let (mut said, mut heard) = (0_u64, 0);
        while begun.elapsed() < Duration::from_secs(3) {
            if caller.queue.try_say(&[ask(said, 0, FIRST)]) == 1 {
                said += 1;
            }
            while let Some(bytes) = caller.queue.try_hear() {
                if let Descriptor::Failure { reason, .. } =
                    Descriptor::read(bytes[..].try_into().unwrap()).unwrap()
                {
                    heard += 1;
                    let mut done = Done::default();
                    done.push(reason.number);
                    caller.queue.try_say(&[Descriptor::Done(done).to_bytes()]);
                }
            }
        }
        heard
    })
    .await;
    println!("  {count} failures");
    assert!(longest < Duration::from_secs(1), "{longest:?}");
}

// ---------------------------------------------------------------- attacks: descriptors

#[tokio::test(flavor = "multi_thread")]
async fn descriptors_of_any_bytes() {
    let daemon =
        Process::start(&["--engine", "evil:acl:field=text deny=eve", "--engine", "evil:quota:calls=50"]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let (path, files) = (daemon.path.clone(), daemon.files());
    let ((), _) = beside("descriptors", honest, move || {
        let mut random = Random(2);
        let attach = |role| loop {
            if let Some(attacker) = Attacker::try_attach(&path, &hello(role, "evil", &nodes())) {
                break attacker;
            }
        };
        let (mut breaches, mut other) = (0, attach(Role::Server));
        let mut attacker = attach(Role::Caller);
        let mut region = attacker.grow(1 << 20).unwrap();
        let mut other_region = other.grow(1 << 20).unwrap();
        let values =
            [0, 1, 7, FIRST, FIRST + 8, BASE, u64::MAX, u64::MAX - 7, 1 << 63, FIRST + (1 << 20) - 8];
        for round in 0..20_000_u64 {
            let mut bytes = [0; 64];
            let is_server = random.below(2) == 0;
            match random.below(10) {
                0 => bytes.iter_mut().for_each(|byte| *byte = random.next() as u8),
                1 => bytes = [0xff; 64],
                _ => {
                    let value = |random: &mut Random| match random.below(3) {
                        0 => random.next(),
                        1 => random.below(8),
                        _ => values[random.below(values.len() as u64) as usize],
                    };
                    bytes[0] = 1 + random.below(6) as u8;
                    bytes[8..16].copy_from_slice(&value(&mut random).to_le_bytes());
                    if bytes[0] < 4 {
                        bytes[16..24].copy_from_slice(&value(&mut random).to_le_bytes());
                        bytes[24..28].copy_from_slice(&(value(&mut random) as u32).to_le_bytes());
                        bytes[28..32].copy_from_slice(&(value(&mut random) as u32).to_le_bytes());
                    }
                    match bytes[0] {
                        1 => {
                            bytes[4] = random.below(2) as u8;
                            bytes[32..36].copy_from_slice(&(value(&mut random) as u32).to_le_bytes());
                        }
                        3 => bytes[1] = random.next() as u8,
                        6 => bytes[2] = random.below(15) as u8,
                        _ => {}
                    }
                }
            }
            let (end, memory) =
                if is_server { (&mut other, &mut other_region) } else { (&mut attacker, &mut region) };
            if round % 50 == 0 {
                for word in memory.words() {
                    if random.below(3) == 0 {
                        let value = values[random.below(10) as usize].wrapping_add(8 * random.below(9));
                        word.store(value, Ordering::Relaxed);
                    }
                }
            }
            end.queue.say(&bytes);
            while end.queue.try_hear().is_some() {}
            if round % 5 == 0 {
                for (end, memory, role) in [
                    (&mut other, &mut other_region, Role::Server),
                    (&mut attacker, &mut region, Role::Caller),
                ] {
                    if end.queue.is_over() {
                        breaches += 1;
                        *end = attach(role);
                        *memory = end.grow(1 << 20).unwrap();
                    }
                }
            }
        }
        println!("  {breaches} breaches");
    })
    .await;
    assert!(daemon.settles(files), "{} files instead of {files}", daemon.files());
}

/// Each call of a caller that repeats numbers has one outcome.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_calls_that_come_again() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    let ((), _) = beside("numbers", honest, move || {
        let mut attacker = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
        let _region = attacker.grow(1 << 20).unwrap();
        // The same number, one call after another, and beside cancellations of it.
        for round in 0..2_000 {
            assert!(attacker.queue.say(&ask(9, 0, FIRST)));
            if round % 2 == 1 {
                attacker.queue.say(&cancel(9));
                attacker.queue.say(&cancel(9));
                // The outcome may come or not. Another number tells when all is through.
                attacker.queue.say(&ask(10, 0, FIRST));
                let mut outcomes = 0;
                loop {
                    match attacker.queue.hear_of_call().unwrap() {
                        Descriptor::Response { call: 10, .. } => break,
                        Descriptor::Response { call: 9, .. } => outcomes += 1,
                        other => panic!("{other:?}"),
                    }
                }
                assert!(outcomes <= 1);
            } else {
                let heard = attacker.queue.hear_of_call();
                assert!(matches!(heard, Some(Descriptor::Response { call: 9, .. })), "{round}: {heard:?}");
            }
        }
    })
    .await;
}

// ---------------------------------------------------------------- attacks: servers

/// A server that answers calls several times, calls that were never made, and with anything.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_whatever_it_likes() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let evil = std::thread::spawn(move || {
        let mut random = Random(3);
        let mut attached = 0;
        while !stopped.load(Ordering::Relaxed) {
            let hello = hello(Role::Server, "evil", &nodes());
            let Some(mut attacker) = Attacker::try_attach(&path, &hello) else { continue };
            let Some(region) = attacker.grow(1 << 20) else { continue };
            attached += 1;
            let mut seen: Vec<u64> = Vec::new();
            'attached: while !stopped.load(Ordering::Relaxed) {
                if let Some(bytes) = attacker.queue.try_hear() {
                    if let Ok(Descriptor::Request { call, .. }) =
                        Descriptor::read(bytes[..].try_into().unwrap())
                    {
                        seen.push(call);
                    }
                } else if attacker.queue.is_over() {
                    break 'attached;
                }
                if seen.is_empty() {
                    continue;
                }
                for word in region.words().iter().take(200) {
                    word.store(
                        match random.below(4) {
                            0 => 0,
                            1 => random.next(),
                            2 => FIRST + random.below(1000),
                            _ => 0xff,
                        },
                        Ordering::Relaxed,
                    );
                }
                let call = match random.below(6) {
                    0 => random.next(),
                    1 => seen[seen.len() - 1].wrapping_add(random.below(3)),
                    _ => seen[random.below(seen.len() as u64) as usize],
                };
                let message = InHeap {
                    at: match random.below(4) {
                        0 => 0,
                        1 => random.next(),
                        _ => FIRST + 8 * random.below(100),
                    },
                    bytes: random.next() as u32,
                    number: random.next() as u32,
                };
                let outcome = match random.below(4) {
                    0 => Descriptor::Response { call, message },
                    1 => {
                        let kind = FailureKind::of_code(random.next() as u8 & 0x7f);
                        Descriptor::Failure {
                            call,
                            kind,
                            may_have_run: random.below(2) == 0,
                            reason: message,
                        }
                    }
                    2 => Descriptor::Cancellation { call },
                    _ => {
                        let mut done = Done::default();
                        (0..random.below(15)).for_each(|_| {
                            done.push(random.below(20) as u32);
                        });
                        Descriptor::Done(done)
                    }
                };
                for _ in 0..=random.below(2) {
                    if attacker.queue.try_say(&[outcome.to_bytes()]) == 0 && attacker.queue.is_over() {
                        break 'attached;
                    }
                }
            }
        }
        attached
    });
    let victim = Attach::new(&daemon.path, "victim").client::<Nodes>("evil").await.unwrap();
    let victim = Arc::new(victim);
    let calls = {
        let victim = Arc::clone(&victim);
        async move {
            let (mut responses, mut failures) = (0, 0);
            for _ in 0..3_000 {
                let begun = Instant::now();
                match victim.call::<Put>(Node::default(), Some(Duration::from_millis(200))).await {
                    Ok(node) => {
                        responses += 1;
                        check(&node);
                    }
                    Err(failure) => {
                        failures += 1;
                        let _text = format!("{failure}");
                    }
                }
                assert!(begun.elapsed() < SOON);
            }
            println!("  {responses} responses, {failures} failures");
        }
    };
    let (stop_watch, watching) = watch(honest);
    calls.await;
    stop_watch.store(true, Ordering::Relaxed);
    let (count, longest) = watching.await.unwrap();
    stop.store(true, Ordering::Relaxed);
    println!("attached {} times; honest {count}, longest {longest:?}", evil.join().unwrap());
}

/// Checks what a reader in place relies on, as far as plain numbers go.
fn check(node: &Node) {
    assert!(node.bits <= 1 && node.flag <= 1 && node.no <= 1 && node.maybe <= 1, "{node:?}");
    assert!(matches!(node.choice, 0 | 6 | 7), "{node:?}");
    let text = |[at, lengths]: [u64; 2]| {
        let length = lengths as u32 as usize;
        if length > 0 {
            // SAFETY: the daemon promises it.
            let bytes = unsafe { std::slice::from_raw_parts(at as *const u8, length) };
            assert!(std::str::from_utf8(bytes).is_ok());
        }
    };
    if node.choice == 6 {
        text(node.text);
    } else {
        assert_eq!(node.text, [0, 0]);
    }
    let [at, lengths] = node.flags;
    let length = lengths as u32 as usize;
    if length > 0 {
        // SAFETY: the daemon promises it.
        let flags = unsafe { std::slice::from_raw_parts(at as *const u8, length) };
        assert!(flags.iter().all(|flag| *flag <= 1));
    }
    if node.next != 0 {
        // SAFETY: the daemon promises it.
        check(unsafe { &*(node.next as *const Node) });
    }
    let [at, lengths] = node.children;
    let length = lengths as u32 as usize;
    if length > 0 {
        // SAFETY: the daemon promises it.
        unsafe { std::slice::from_raw_parts(at as *const Node, length) }.iter().for_each(check);
    }
}

/// The text of a failure that is no text does not reach the caller.
#[tokio::test(flavor = "multi_thread")]
async fn a_reason_that_is_no_text() {
    let daemon = Process::start(&[]);
    let path = daemon.path.clone();
    let (ready, attached) = std::sync::mpsc::channel();
    let evil = std::thread::spawn(move || {
        let mut attacker = Attacker::attach(&path, &hello(Role::Server, "evil", &nodes()));
        let region = attacker.grow(1 << 20).unwrap();
        region.write_text(FIRST + 64, &[0xff; 64]);
        ready.send(()).unwrap();
        for (at, len) in [(FIRST + 64, 64), (FIRST + 64, u32::MAX), (u64::MAX, 1), (0, 5), (FIRST, 0)] {
            let Some(Descriptor::Request { call, .. }) = attacker.queue.hear_of_call() else { panic!() };
            region.write(FIRST, &reference(at, len));
            let reason = InHeap { at: FIRST, bytes: 16, number: 3 };
            let failure = Descriptor::Failure { call, kind: FailureKind::Denied, may_have_run: true, reason };
            attacker.queue.say(&failure.to_bytes());
        }
        attacker
    });
    attached.recv().unwrap();
    let victim = Attach::new(&daemon.path, "victim").client::<Nodes>("evil").await.unwrap();
    for _ in 0..5 {
        let failure = victim.call::<Put>(Node::default(), Some(SOON)).await.unwrap_err();
        println!("{:?}: {}", failure.kind(), failure.text());
        assert!(std::str::from_utf8(failure.text().as_bytes()).is_ok());
    }
    evil.join().unwrap();
}

// ---------------------------------------------------------------- attacks: memory

/// Takes regions of a receive heap, and drops them, until the daemon hangs up.
fn take_regions(control: &UnixStream) {
    let control = control.try_clone().unwrap();
    std::thread::spawn(move || {
        let mut bytes = [0; Answer::SIZE];
        loop {
            match receive(&control, &mut bytes) {
                Ok((0, _)) => return,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(_) => return,
            }
        }
    });
}

/// What an attacker's requests cost, while another calls. Returns the longest time of an honest call.
async fn costs(
    name: &str,
    daemon: &Process,
    descriptors: Vec<u8>,
    bytes: usize,
    fill: impl FnOnce(&Mapped) -> u64 + Send + 'static,
) -> Duration {
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    let ((), longest) = beside(name, honest, move || {
        let mut server = Attacker::attach(&path, &hello(Role::Server, "evil", &descriptors));
        let mut caller = Attacker::attach(&path, &hello(Role::Caller, "evil", &descriptors));
        let region = caller.grow(bytes).unwrap();
        let at = fill(&region);
        take_regions(&server.control);
        take_regions(&caller.control);
        let mut said = 0;
        let requests: Vec<_> = (0..64).map(|call| ask(call, 0, at)).collect();
        while said < requests.len() {
            said += caller.queue.try_say(&requests[said..]);
            std::thread::yield_now();
        }
        // The server takes each request, and gives it back.
        let until = Instant::now() + Duration::from_secs(60);
        let (mut outcomes, mut kinds) = (0, std::collections::HashMap::<String, u32>::new());
        while outcomes < 64 && Instant::now() < until {
            if let Some(bytes) = server.queue.try_hear()
                && let Ok(Descriptor::Request { call, message, .. }) =
                    Descriptor::read(bytes[..].try_into().unwrap())
            {
                let mut done = Done::default();
                done.push(message.number);
                server.queue.say(&Descriptor::Done(done).to_bytes());
                let failure = Descriptor::Failure {
                    call,
                    kind: FailureKind::Denied,
                    may_have_run: true,
                    reason: InHeap::default(),
                };
                server.queue.say(&failure.to_bytes());
            }
            if let Some(bytes) = caller.queue.try_hear()
                && let Ok(Descriptor::Failure { kind, .. }) = Descriptor::read(bytes[..].try_into().unwrap())
            {
                outcomes += 1;
                *kinds.entry(format!("{kind:?}")).or_default() += 1;
            }
        }
        println!("  {outcomes} outcomes: {kinds:?}");
    })
    .await;
    longest
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_lead_to_themselves() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    // A node that is its own next.
    costs("next to itself", &daemon, nodes(), 1 << 20, |region| {
        region.write(FIRST, &Node { next: FIRST, ..Node::default() }.words());
        FIRST
    })
    .await;
    // Two children, which are the node itself.
    costs("two children", &daemon, nodes(), 1 << 20, |region| {
        let node = Node { children: reference(FIRST, 2), next: FIRST, ..Node::default() };
        region.write(FIRST, &node.words());
        region.write(FIRST + 8 * NODE_WORDS as u64, &node.words());
        FIRST
    })
    .await;
    costs("four billion empty messages", &daemon, nodes(), 1 << 20, |region| {
        region.write(FIRST, &Node { empties: reference(FIRST, u32::MAX), ..Node::default() }.words());
        FIRST
    })
    .await;
    costs("four billion bools", &daemon, nodes(), 1 << 20, |region| {
        region.write(FIRST, &Node { flags: reference(FIRST, u32::MAX), ..Node::default() }.words());
        FIRST
    })
    .await;
}

/// Requests that take the daemon long, for their size.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes minutes, and tells times"]
async fn requests_that_cost_much() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let flags: Vec<_> = (1..=8_000)
        .map(|number| field(number, &format!("f{number}"), Type::Bool, Label::Optional, ""))
        .collect();
    let wide = schema(
        vec![
            message("Wide", flags),
            message("Rows", vec![field(1, "rows", Type::Message, Label::Repeated, ".a.Wide")]),
        ],
        &[("Put", ".a.Rows", ".a.Rows")],
    );
    let longest = costs("512 KiB of bools", &daemon, wide.clone(), 2 << 20, |region| {
        region.write(FIRST, &reference(FIRST + 16, (512 << 10) / 8_000));
        FIRST
    })
    .await;
    println!("  {longest:?}");
    let longest = costs("60 MiB of bools", &daemon, wide, 64 << 20, |region| {
        region.write(FIRST, &reference(FIRST + 16, (60 << 20) / 8_000));
        FIRST
    })
    .await;
    println!("  {longest:?}");
    let texts = schema(
        vec![message("Texts", vec![field(1, "texts", Type::String, Label::Repeated, "")])],
        &[("Put", ".a.Texts", ".a.Texts")],
    );
    let longest = costs("4 million texts", &daemon, texts.clone(), 64 << 20, |region| {
        region.write(FIRST, &reference(FIRST + 16, 2_000_000));
        for text in 0..2_000_000_u64 {
            region.write(FIRST + 16 + 16 * text, &reference(FIRST, 8));
        }
        FIRST
    })
    .await;
    println!("  {longest:?}");
    // The last text is none, so each request fails, and takes no memory of anybody.
    let longest = costs("4 million texts and no text", &daemon, texts, 64 << 20, |region| {
        region.write(FIRST, &reference(FIRST + 16, 2_000_000));
        for text in 0..2_000_000_u64 {
            region.write(FIRST + 16 + 16 * text, &reference(FIRST, 8));
        }
        region.write(FIRST + 16 + 16 * 1_999_999, &reference(1, 8));
        FIRST
    })
    .await;
    println!("  {longest:?}");
}

/// Memory that changes while the daemon reads it.
#[tokio::test(flavor = "multi_thread")]
async fn memory_that_changes() {
    let daemon = Process::start(&["--engine", "evil:acl:field=text deny=eve"]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    let mut victim = Attach::new(&daemon.path, "victim").server::<Nodes>("evil").await.unwrap();
    let path = daemon.path.clone();
    let victim = tokio::spawn(async move {
        let mut calls = 0_u64;
        while let Ok(mut call) = victim.next().await {
            let node = call.request::<Put>().unwrap();
            check(&node);
            if node.choice == 6 && node.text[0] != 0 {
                let [at, lengths] = node.text;
                // SAFETY: checked above.
                let text = unsafe { std::slice::from_raw_parts(at as *const u8, lengths as u32 as usize) };
                assert_ne!(text, b"eve");
            }
            let _told = call.respond::<Put>(Node::default()).await;
            calls += 1;
            if calls.is_multiple_of(1000) {
                println!("  {calls} calls have come");
            }
        }
    });
    let ((), _) = beside("changes", honest, move || {
        let mut caller = Attacker::attach(&path, &hello(Role::Caller, "evil", &nodes()));
        let region = Arc::new(caller.grow(1 << 20).unwrap());
        let stop = Arc::new(AtomicBool::new(false));
        let (flipped, stopped) = (Arc::clone(&region), Arc::clone(&stop));
        let flip = std::thread::spawn(move || {
            let mut random = Random(5);
            while !stopped.load(Ordering::Relaxed) {
                let node = Node {
                    bits: random.below(3),
                    choice: 5 + random.below(4) as u32,
                    children: reference(FIRST + 8 * (4 + random.below(20)), random.below(3) as u32),
                    next: if random.below(4) == 0 { FIRST + 8 * (14 + random.below(4)) } else { 0 },
                    empties: reference(FIRST, random.below(5) as u32),
                    flag: random.below(4) as u8,
                    maybe: random.below(4) as u8,
                    text: reference(FIRST + 8 * 40, random.below(9) as u32),
                    no: random.below(3) as u8,
                    flags: reference(FIRST + 8 * 41, random.below(9) as u32),
                    ..Node::default()
                };
                flipped.write(FIRST + 8 * random.below(20), &node.words());
                let text = if random.below(2) == 0 { *b"eve\0\0\0\0\0" } else { *b"ada\xffab\0\0" };
                flipped.write_text(FIRST + 8 * 40, &text);
            }
        });
        let (mut said, mut heard) = (0, 0);
        while heard < 3_000 {
            if said < heard + 32 && caller.queue.try_say(&[ask(said, 0, FIRST)]) == 1 {
                said += 1;
            }
            let Some(bytes) = caller.queue.try_hear() else {
                assert!(!caller.queue.is_over());
                continue;
            };
            let number = match Descriptor::read(bytes[..].try_into().unwrap()).unwrap() {
                Descriptor::Response { message, .. } | Descriptor::Failure { reason: message, .. } => {
                    message.number
                }
                _ => continue,
            };
            heard += 1;
            let mut done = Done::default();
            done.push(number);
            caller.queue.say(&Descriptor::Done(done).to_bytes());
        }
        stop.store(true, Ordering::Relaxed);
        flip.join().unwrap();
    })
    .await;
    assert!(!victim.is_finished());
    victim.abort();
}

/// No request of a customer who is denied reaches the server, while the name flips.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_flips_never_passes_the_list() {
    for list in ["deny=eve", "allow=ada,ada\u{e9}"] {
        let engine = format!("hotel:acl:field=customer {list}");
        let daemon = Process::start(&["--engine", &engine]);
        let mut serving = server(&daemon.path).await;
        let path = daemon.path.clone();
        let served = tokio::spawn(async move {
            let (mut calls, mut blocked) = (0_u64, 0_u64);
            while let Ok(mut call) = serving.next().await {
                calls += 1;
                if call.method() == Reserve::NUMBER {
                    let request = call.request::<Reserve>().unwrap();
                    blocked += u64::from(request.customer.as_str().contains("eve"));
                    if blocked > 0 {
                        println!("a blocked name: {:?}", request.customer.as_str());
                        break;
                    }
                }
                let _told = call.respond::<Ping>(Empty {}).await;
            }
            (calls, blocked)
        });
        let calls: u64 = std::env::var("ATTACK_CALLS").map_or(10_000, |calls| calls.parse().unwrap());
        let heard = tokio::task::spawn_blocking(move || {
            let mut caller = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
            let region = Arc::new(caller.grow(1 << 20).unwrap());
            region.write(FIRST, &[0; 16]);
            region.write_text(FIRST + 256, b"eve\0\0\0\0\0");
            region.write_text(FIRST + 264, b"ada\0\0\0\0\0");
            region.write(FIRST, &reference(FIRST + 256, 3));
            let stop = Arc::new(AtomicBool::new(false));
            let flips: Vec<_> = (0..2_u64)
                .map(|seed| {
                    let (region, stop) = (Arc::clone(&region), Arc::clone(&stop));
                    std::thread::spawn(move || {
                        let mut random = Random(seed);
                        while !stop.load(Ordering::Relaxed) {
                            if seed == 0 {
                                region.write_text(FIRST + 256, b"eve\0\0\0\0\0");
                                region.write_text(FIRST + 256, b"ada\0\0\0\0\0");
                            } else {
                                region.write(FIRST, &[FIRST + 256 + 8 * random.below(2)]);
                                region.write(FIRST + 8, &[3 << 32 | (2 + random.below(2))]);
                            }
                        }
                    })
                })
                .collect();
            let (mut said, mut heard, mut denied) = (0, 0, 0);
            while heard < calls {
                if said < heard + 64 && caller.queue.try_say(&[ask(said, 1, FIRST)]) == 1 {
                    said += 1;
                }
                let Some(bytes) = caller.queue.try_hear() else {
                    assert!(!caller.queue.is_over());
                    continue;
                };
                let number = match Descriptor::read(bytes[..].try_into().unwrap()).unwrap() {
                    Descriptor::Response { message, .. } => message.number,
                    Descriptor::Failure { reason, kind, .. } => {
                        denied += u64::from(kind == FailureKind::Denied);
                        reason.number
                    }
                    _ => continue,
                };
                heard += 1;
                let mut done = Done::default();
                done.push(number);
                caller.queue.say(&Descriptor::Done(done).to_bytes());
            }
            stop.store(true, Ordering::Relaxed);
            flips.into_iter().for_each(|flip| flip.join().unwrap());
            (heard, denied)
        })
        .await
        .unwrap();
        let path = daemon.path.clone();
        drop(daemon);
        let (calls, blocked) = served.await.unwrap();
        println!("{list}: {heard:?} heard and denied; {calls} reached the server, {blocked} of them blocked");
        assert_eq!(blocked, 0, "{path:?}");
        assert!(heard.1 > 0 && calls > 0);
    }
}

// ---------------------------------------------------------------- attacks: queues

#[tokio::test(flavor = "multi_thread")]
async fn queues_that_lie() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let (path, files) = (daemon.path.clone(), daemon.files());
    let ((), _) = beside("queues", honest, move || {
        let mut random = Random(7);
        for round in 0..300 {
            let mut attacker = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
            for call in 0..20 {
                attacker.queue.say(&ask(call, 9, 0));
            }
            let words = attacker.queue.memory.words();
            let until = Instant::now() + Duration::from_millis(10);
            while Instant::now() < until {
                let at = match round % 4 {
                    0 => [0, 16, 32, 48, 64, 80, 96, 112][random.below(8) as usize],
                    1 => 512 + random.below(64),
                    2 => random.below(words.len() as u64),
                    _ => 64 + 16 * random.below(4),
                };
                let value = match random.below(5) {
                    0 => 0,
                    1 => random.next(),
                    2 => u64::MAX,
                    3 => 65,
                    _ => random.below(10_000),
                };
                words[at as usize].store(value, Ordering::Relaxed);
                attacker.queue.wake();
            }
        }
        // Rings of each size.
        for shift in 12..=26 {
            let mut control = UnixStream::connect(&path).unwrap();
            let bytes = hello(Role::Caller, "hotel", Hotel::descriptors()).to_bytes().unwrap();
            control.write_all(&bytes).unwrap();
            let (Answer::Taken, Some(queue)) = hear(&control).unwrap() else { panic!() };
            let queue: UnixStream = queue.into();
            let layout = Layout::new(1 << shift).unwrap();
            let file = memfd(layout.memory_bytes(), SEALS);
            send_with(&queue, &offer_bytes(1 << shift), &[file.as_fd()]).unwrap();
            let mut answer = [0; 9];
            queue.set_nonblocking(false).unwrap();
            (&queue).read_exact(&mut answer).unwrap();
            println!("  a ring of 2^{shift}: {}", answer[0]);
        }
        // An empty message, and the longest, and a storm of bells.
        let mut attacker = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
        let _region = attacker.grow(1 << 20).unwrap();
        for _ in 0..100_000 {
            attacker.queue.wake();
        }
        attacker.queue.say(&ask(1, 0, FIRST));
        assert!(matches!(attacker.queue.hear_of_call(), Some(Descriptor::Response { call: 1, .. })));
    })
    .await;
    assert!(daemon.settles(files), "{} files instead of {files}", daemon.files());
}

// ---------------------------------------------------------------- attacks: growth

#[tokio::test(flavor = "multi_thread")]
async fn storms_of_growth() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let (path, files, mappings) = (daemon.path.clone(), daemon.files(), daemon.mappings());
    let pid = daemon.child.id();
    let ((), longest) = beside("growth", honest, move || {
        let mut attackers = Vec::new();
        for _ in 0..40 {
            let mut attacker = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
            attacker.control.set_nonblocking(true).unwrap();
            let mut storm = Vec::new();
            for _ in 0..2000 {
                storm.extend(Grow { bytes: 65536 }.to_bytes());
            }
            let _said = attacker.control.write(&storm);
            attackers.push(attacker);
        }
        std::thread::sleep(Duration::from_millis(500));
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap().lines().count();
        println!("  {maps} mappings under attack");
        for attacker in &attackers {
            let mut granted = 0;
            while let Some((answer, _)) = hear(&attacker.control) {
                match answer {
                    Answer::Granted { .. } => granted += 1,
                    Answer::Full => break,
                    _ => {}
                }
            }
            assert!(granted <= 256, "{granted}");
        }
    })
    .await;
    assert!(longest < Duration::from_secs(2));
    assert!(daemon.settles(files), "{} files instead of {files}", daemon.files());
    assert!(daemon.mappings() <= mappings + 20, "{mappings} -> {}", daemon.mappings());
}

/// The kernel bounds the files that are on their way from a user; an application that never takes its regions must not use them up.
#[tokio::test(flavor = "multi_thread")]
async fn regions_that_nobody_takes_keep_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let others = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.path(), others).unwrap();
    std::fs::File::create(folder.path().join("rpcd.log")).unwrap();
    let daemon = Process::at(folder.path().join("rpcd"), &["--user", "0"], Some(65534), Some(400));
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let attach = daemon.attach().users(bertha_datapath_shm::Users::Any);
    let _serving = serve(attach.server("hotel").await.unwrap());
    let honest = attach.client("hotel").await.unwrap();
    works(&honest, 1).await;
    let path = daemon.path.clone();
    let attackers = tokio::task::spawn_blocking(move || {
        let mut attackers = Vec::new();
        for _ in 0..8 {
            let Some(mut attacker) =
                Attacker::try_attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()))
            else {
                break;
            };
            attacker.control.set_nonblocking(true).unwrap();
            for _ in 0..100 {
                let _said = attacker.control.write(&Grow { bytes: 65536 }.to_bytes());
            }
            std::thread::sleep(Duration::from_millis(50));
            attackers.push(attacker);
        }
        attackers
    })
    .await
    .unwrap();
    println!("{} attackers, {} files", attackers.len(), daemon.files());
    let late = attach.within(Duration::from_secs(5)).client::<Hotel>("hotel").await;
    println!("{:?}\n{}", late.as_ref().err(), daemon.log());
    let late = late.expect("an application attaches beside others that take nothing");
    works(&late, 1).await;
    drop(attackers);
}

// ---------------------------------------------------------------- attacks: those who do not read

/// A caller who never takes its responses, which are large, leaves the server memory for others.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "open: callers of a server share its receive heap without shares"]
async fn a_caller_that_takes_no_responses_leaves_the_server_its_memory() {
    let daemon = Process::start(&["--heap", "67108864"]);
    let mut serving = daemon.attach().heap(64 << 20).server::<Hotel>("hotel").await.unwrap();
    tokio::spawn(async move {
        while let Ok(mut call) = serving.next().await {
            let request = call.request::<Reserve>().unwrap();
            let guests: Vec<&str> = request.guests.iter().map(|guest| guest.as_str()).collect();
            let text = format!("{}: {}", request.customer.as_str(), guests.join(", "));
            let price = 100 * request.nights;
            drop(request);
            let mut room = bertha_managed::heap::String::new_in(call.heap());
            if room.try_reserve(text.len()).is_err() {
                let failure = bertha_chunnels::rpc::Failure::of(FailureKind::Overloaded, "no room to answer");
                call.fail(&failure).await.unwrap();
                continue;
            }
            room.push_str(&text);
            let _told = call.respond::<Reserve>(hotel::Response { room, price }).await;
        }
    });
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    works(&honest, 1).await;
    let (attacker, longest) = beside("no reading", honest, move || {
        let mut attackers = Vec::new();
        for _ in 0..4 {
            let mut attacker = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
            let region = attacker.grow(1 << 20).unwrap();
            // A guest of 100 KiB, whose name is in the response.
            let words = [0, 0, 0, FIRST + 64, 1 | 1 << 32];
            region.write(FIRST, &words);
            region.write(FIRST + 64, &reference(FIRST + 128, 100 << 10));
            for word in region.words()[16..].iter().take(13_000) {
                word.store(u64::from_le_bytes([b'x'; 8]), Ordering::Relaxed);
            }
            let until = Instant::now() + Duration::from_secs(2);
            let mut call = 0;
            while Instant::now() < until && call < 5_000 {
                call += attacker.queue.try_say(&[ask(call, 1, FIRST)]) as u64;
                std::thread::sleep(Duration::from_micros(20));
            }
            println!("  {call} calls");
            attackers.push((attacker, region));
        }
        attackers
    })
    .await;
    println!("{longest:?}");
    works(&client(&daemon.path).await, 100).await;
    drop(attacker);
    works(&client(&daemon.path).await, 100).await;
}

/// A server that never takes its requests, and callers of another.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_no_requests() {
    let daemon = Process::start(&["--heap", "4194304"]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 10).await;
    let memory = daemon.memory();
    let (path, files) = (daemon.path.clone(), daemon.files());
    let ((), longest) = beside("a silent server", honest, move || {
        let server = Attacker::attach(&path, &hello(Role::Server, "evil", Hotel::descriptors()));
        let mut callers: Vec<_> = (0..8)
            .map(|_| Attacker::attach(&path, &hello(Role::Caller, "evil", Hotel::descriptors())))
            .collect();
        let _regions: Vec<_> = callers.iter_mut().map(|caller| caller.grow(1 << 20).unwrap()).collect();
        let begun = Instant::now();
        let mut call = 0;
        while begun.elapsed() < Duration::from_secs(4) {
            for caller in &mut callers {
                call += 1;
                if caller.queue.try_say(&[ask_within(call, 0, FIRST, [0, 1, u32::MAX][call as usize % 3])])
                    == 1
                {
                    caller.queue.try_say(&[cancel(call.saturating_sub(8))]);
                }
                while caller.queue.try_hear().is_some() {}
            }
        }
        println!("  {call} calls tried; {}", server.queue.is_over());
    })
    .await;
    println!("{longest:?}, memory {memory} -> {} KiB", daemon.memory());
    assert!(daemon.memory() < memory + (64 << 10), "{memory} -> {}", daemon.memory());
    assert!(daemon.settles(files));
}

/// Requests, cancellations and deadlines in any order, at full speed: the daemon's memory stays.
#[tokio::test(flavor = "multi_thread")]
async fn floods_of_calls_and_cancellations() {
    let daemon = Process::start(&["--engine", "evil:rate-limit:per-second=100 burst=1"]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 10).await;
    let (path, files, memory) = (daemon.path.clone(), daemon.files(), daemon.memory());
    let ((), longest) = beside("floods", honest, move || {
        let mut serving = Attacker::attach(&path, &hello(Role::Server, "evil", Hotel::descriptors()));
        let mut caller = Attacker::attach(&path, &hello(Role::Caller, "evil", Hotel::descriptors()));
        let mut _region = caller.grow(1 << 20).unwrap();
        let mut random = Random(11);
        let begun = Instant::now();
        let (mut call, mut said) = (0, 0_u64);
        while begun.elapsed() < Duration::from_secs(3) {
            let burst: Vec<_> = (0..32)
                .map(|_| match random.below(4) {
                    0 => {
                        call += 1;
                        ask_within(call, 0, FIRST, [0, 1, 5, u32::MAX][random.below(4) as usize])
                    }
                    1 => cancel(random.next()),
                    _ => cancel(call - random.below(call + 1)),
                })
                .collect();
            // Those for which there is no room are lost, which is all the same.
            said += caller.queue.try_say(&burst) as u64;
            while caller.queue.try_hear().is_some() {}
            while serving.queue.try_hear().is_some() {}
            if caller.queue.is_over() {
                println!("  detached");
                caller = Attacker::attach(&path, &hello(Role::Caller, "evil", Hotel::descriptors()));
                _region = caller.grow(1 << 20).unwrap();
            }
        }
        println!("  {said} descriptors");
    })
    .await;
    println!("{longest:?}, memory {memory} -> {} KiB", daemon.memory());
    assert!(daemon.memory() < memory + (32 << 10), "{memory} -> {}", daemon.memory());
    assert!(daemon.settles(files));
}

// ---------------------------------------------------------------- attacks: death

/// Runs as a process of its own, which is killed.
#[tokio::test]
#[ignore = "a part of the test of kills"]
async fn an_application_that_is_killed() {
    let Ok(path) = std::env::var("ATTACK_PATH") else { return };
    let service = std::env::var("ATTACK_SERVICE").unwrap();
    let attach = Attach::new(&path, "doomed");
    let _serving = match attach.server::<Hotel>(&service).await {
        Ok(server) => Some(serve(server)),
        Err(_) => None,
    };
    let own = attach.client::<Hotel>(&service).await.unwrap();
    let honest = attach.client::<Hotel>("hotel").await.unwrap();
    let long = "x".repeat(1 << 20);
    loop {
        for client in [&own, &honest] {
            let asked = request(client.heap(), "ada", 1, &[&long, &long]);
            let _outcome = client.call::<Reserve>(asked, Some(Duration::from_millis(500))).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn applications_that_are_killed_leave_nothing() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 10).await;
    let kills = std::env::var("ATTACK_KILLS").map_or(60, |kills| kills.parse().unwrap());
    let path = daemon.path.clone();
    let kill = move |rounds: u64, seed| {
        let path = path.clone();
        move || {
            let mut random = Random(seed);
            for round in 0..rounds {
                let mut child = Command::new(std::env::current_exe().unwrap())
                    .args(["--ignored", "--exact", "an_application_that_is_killed"])
                    .env("ATTACK_PATH", &path)
                    .env("ATTACK_SERVICE", format!("doomed-{}", round % 3))
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                std::thread::sleep(Duration::from_millis(random.below(120)));
                child.kill().unwrap();
                child.wait().unwrap();
            }
        }
    };
    let ((), _) = beside("first kills", client(&daemon.path).await, kill(10, 1)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    works(&honest, 10).await;
    let (files, mappings, memory) = (daemon.files(), daemon.mappings(), daemon.memory());
    let ((), _) = beside("kills", client(&daemon.path).await, kill(kills, 2)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    works(&honest, 10).await;
    println!(
        "files {files} -> {}, mappings {mappings} -> {}, memory {memory} -> {} KiB, {} threads",
        daemon.files(),
        daemon.mappings(),
        daemon.memory(),
        daemon.threads()
    );
    assert!(daemon.settles(files), "{files} -> {}", daemon.files());
    assert!(daemon.mappings() <= mappings + 20);
    assert!(daemon.memory() < memory + (16 << 10));
}

/// The daemon is killed and started again amid calls: each call has one outcome, and applications attach again.
#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rpcd");
    for round in 0..10 {
        let mut daemon = Process::at(path.clone(), &[], None, None);
        let _serving = serve(server(&path).await);
        let honest = Arc::new(client(&path).await);
        let calls: Vec<_> = (0..50)
            .map(|_| {
                let honest = Arc::clone(&honest);
                tokio::spawn(async move {
                    loop {
                        let asked = request(honest.heap(), "ada", 2, &["guest"]);
                        match tokio::time::timeout(SOON, honest.call::<Reserve>(asked, None)).await.unwrap() {
                            Ok(response) => assert_eq!(response.price, 200),
                            Err(failure) => return failure.kind(),
                        }
                    }
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(10 * round)).await;
        daemon.child.kill().unwrap();
        for call in calls {
            let kind = call.await.unwrap();
            assert!(matches!(kind, FailureKind::Disconnected | FailureKind::Overloaded), "{kind:?}");
        }
        // The heap of the dead daemon goes on, and fails in a proper way.
        for _ in 0..3 {
            let mut text = bertha_managed::heap::String::new_in(honest.heap());
            println!("{:?}", text.try_reserve(300 << 20).is_err());
        }
        drop(honest);
        daemon.child.wait().unwrap();
        // The drop sees a child that was killed.
        std::mem::forget(daemon);
    }
}

/// A daemon that stops, and goes on: deadlines hold meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_sleeps() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 10).await;
    let pid = rustix::process::Pid::from_child(&daemon.child);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    for _ in 0..20 {
        let failure = honest.call::<Ping>(Empty {}, Some(Duration::from_millis(20))).await.unwrap_err();
        assert_eq!(failure.kind(), FailureKind::TimedOut);
    }
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    works(&honest, 10).await;
}

// ---------------------------------------------------------------- attacks: names and users

#[tokio::test(flavor = "multi_thread")]
async fn names_of_services() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    let ((), _) = beside("names", honest, move || {
        let good = hello(Role::Server, "hotel", Hotel::descriptors()).to_bytes().unwrap();
        let at = Hello::HEADER + "attacker".len();
        for wrong in [*b"hot\0l", *b"hot\xffl", *b"hot\nl", *b"\x80\x80\x80\x80\x80", *b"hot\x7fl"] {
            let mut bytes = good.clone();
            bytes[at..at + 5].copy_from_slice(&wrong);
            let mut socket = UnixStream::connect(&path).unwrap();
            socket.write_all(&bytes).unwrap();
            let (answer, _) = hear_some(&socket);
            assert!(matches!(answer, Answer::Refused { .. }), "{wrong:?}");
        }
        for (application, service) in [(0, 5), (8, 0), (255, 255), (8, 255), (0, 0)] {
            let mut bytes = good.clone();
            (bytes[14], bytes[15]) = (application, service);
            let mut socket = UnixStream::connect(&path).unwrap();
            socket.write_all(&bytes).unwrap();
            let (answer, _) = hear_some(&socket);
            assert!(matches!(answer, Answer::Refused { .. }), "{application}, {service}");
        }
        let long = "\u{1f600}".repeat(63);
        let _server = Attacker::attach(&path, &hello(Role::Server, &long, Hotel::descriptors()));
        // The honest server stays.
        assert!(Attacker::try_attach(&path, &hello(Role::Server, "hotel", Hotel::descriptors())).is_none());
    })
    .await;
    println!("{}", daemon.log());
}

/// Hears an answer of which a text may follow.
fn hear_some(mut socket: &UnixStream) -> (Answer, Vec<u8>) {
    let mut bytes = [0; Answer::SIZE];
    socket.set_read_timeout(Some(SOON)).unwrap();
    socket.read_exact(&mut bytes).unwrap();
    let mut text = Vec::new();
    let _end = socket.read_to_end(&mut text);
    (Answer::read(&bytes).unwrap(), text)
}

/// An application attaches to a daemon of its own user, or of root, and to no other.
#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_of_another_user_gets_no_application() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(folder.path(), mode(0o777)).unwrap();
    std::fs::File::create(folder.path().join("rpcd.log")).unwrap();
    let daemon = Process::at(folder.path().join("rpcd"), &["--user", "0"], Some(65534), None);
    let attached = daemon.attach().client::<Hotel>("hotel").await;
    assert!(attached.is_err(), "the application trusts the daemon of a stranger");
}

// ---------------------------------------------------------------- attacks: policies

fn add(name: &str, settings: &str) -> Change {
    let kind = built_in().into_iter().find(|kind| kind.name() == name).unwrap();
    Change::Add { name: name.into(), kind, settings: settings.parse().unwrap() }
}

/// A caller whose schema lacks the field of a list keeps the operator from no policy.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_of_another_schema_keeps_the_operator_from_no_policy() {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    let honest = daemon.client().await;
    let _attacker = Attacker::attach(&daemon.path, &hello(Role::Caller, "hotel", OtherHotel::descriptors()));
    daemon.operator.change("hotel", &add("acl", "field=customer deny=eve")).unwrap();
    let asked = request(honest.heap(), "eve", 1, &[]);
    let failure = honest.call::<Reserve>(asked, Some(SOON)).await.unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Denied);
}

/// An application that attaches again and again has no more calls than one that stays.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "open: engines are those of an attachment, not of an application"]
async fn attaching_again_gets_around_no_limit() {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    daemon.operator.change("hotel", &add("rate-limit", "per-second=0 burst=1")).unwrap();
    let path = daemon.path.clone();
    let passed = tokio::task::spawn_blocking(move || {
        let mut passed = 0;
        for _ in 0..20 {
            let mut attacker = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
            let _region = attacker.grow(1 << 20).unwrap();
            attacker.queue.say(&ask(1, 0, FIRST));
            std::thread::sleep(Duration::from_millis(30));
            while let Some(bytes) = attacker.queue.try_hear() {
                passed += u64::from(matches!(
                    Descriptor::read(bytes[..].try_into().unwrap()),
                    Ok(Descriptor::Response { .. })
                ));
            }
        }
        passed
    })
    .await
    .unwrap();
    println!("{passed} calls of 20 attachments passed a limit of one");
    assert_eq!(passed, 1);
}

/// Changes with bad settings under load: each call has its outcome, and what was in force stays in force.
#[tokio::test(flavor = "multi_thread")]
async fn changes_with_bad_settings() {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    let honest = daemon.client().await;
    let (stop, watching) = watch(honest);
    let kind = |name: &str| built_in().into_iter().find(|kind| kind.name() == name).unwrap();
    let change = |change: Change| {
        let debug = format!("{change:?}");
        let changed = daemon.operator.change("hotel", &change);
        println!("{}: {changed:?}", &debug[..debug.len().min(150)]);
        changed
    };
    let max = u64::MAX;
    for _ in 0..20 {
        for (name, settings) in [
            ("rate-limit", format!("per-second={max} burst={max} queue={max}")),
            ("rate-limit", format!("per-second=100000 burst={max}")),
            ("rate-limit", format!("per-second={max} burst=1")),
            ("rate-limit", "per-second=1000000 burst=100000000000000 queue=0".into()),
            ("quota", format!("calls={max}")),
            ("acl", "field=customer allow=ada,bob".into()),
            ("acl", "field=guests deny=eve".into()),
            ("acl", "field=nights deny=-1,99999999999999999999999999999999999999999999999".into()),
            ("null", String::new()),
        ] {
            change(add(name, &settings)).unwrap();
            for (wrong, settings) in [
                (name, "calls=x"),
                (name, "calls=-1"),
                (name, "per-second=1.5"),
                (name, "per-second=99999999999999999999999"),
                (name, "deny=a allow=b"),
                (name, "nothing=1"),
                ("", "a=b"),
                ("no engine", ""),
            ] {
                let settings = settings.parse().unwrap();
                change(Change::Configure { name: wrong.into(), settings }).unwrap_err();
            }
            for other in ["acl", "null", "quota", "rate-limit"] {
                if other != name && other != "null" {
                    change(Change::Upgrade { name: name.into(), kind: kind(other) }).unwrap_err();
                }
            }
            change(add(name, &settings)).unwrap_err();
            tokio::time::sleep(Duration::from_millis(3)).await;
            change(Change::Remove { name: name.into() }).unwrap();
            change(Change::Remove { name: name.into() }).unwrap_err();
        }
    }
    for (name, settings) in [
        ("acl", "field=customer"),
        ("acl", "deny=a"),
        ("acl", "field= deny=a"),
        ("acl", "field=. deny=a"),
        ("acl", "field=customer.name deny=a"),
        ("acl", "field=customer... deny=a"),
        ("quota", "calls="),
        ("rate-limit", "burst=1e9"),
        ("null", "a=b"),
    ] {
        change(add(name, settings)).unwrap_err();
    }
    stop.store(true, Ordering::Relaxed);
    let (calls, longest) = watching.await.unwrap();
    println!("{calls} honest calls, the longest {longest:?}");
}

/// Sizes that a caller claims take no memory from other callers.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "open: a size that is claimed takes up to 1 MiB until the message comes back"]
async fn sizes_that_a_caller_claims() {
    let daemon = Process::start(&["--heap", "16777216"]);
    let mut serving = server(&daemon.path).await;
    let path = daemon.path.clone();
    // The server has many requests at a time.
    let served = tokio::spawn(async move {
        let mut held = std::collections::VecDeque::new();
        while let Ok(call) = serving.next().await {
            if call.method() == Ping::NUMBER {
                held.push_back(call);
                if held.len() > 100 {
                    hotel::answer(held.pop_front().unwrap()).await;
                }
            } else {
                hotel::answer(call).await;
            }
        }
    });
    let honest = client(&daemon.path).await;
    let attacker = tokio::task::spawn_blocking(move || {
        let mut attacker = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
        let _region = attacker.grow(1 << 20).unwrap();
        for call in 0..60 {
            let message = InHeap { at: FIRST, bytes: u32::MAX, number: call as u32 };
            let bytes = Descriptor::Request { call, method: 0, message, milliseconds: 0 }.to_bytes();
            attacker.queue.say(&bytes);
        }
        std::thread::sleep(Duration::from_millis(300));
        attacker
    })
    .await
    .unwrap();
    works(&honest, 100).await;
    drop(attacker);
    served.abort();
}

/// A request that finds no room in the heap takes nothing from another request.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_room_takes_no_memory_of_another() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = daemon.attach().heap(1 << 20).client::<Hotel>("hotel").await.unwrap();
    let heap = honest.heap();
    let fill = |bytes: usize| {
        let mut texts = Vec::new();
        loop {
            let mut text = bertha_managed::heap::String::new_in(heap);
            if text.try_reserve(bytes).is_err() {
                break texts;
            }
            texts.push(text);
        }
    };
    let mut filled = fill(32 << 10);
    drop(filled.split_off(filled.len() - 4));
    let pid = rustix::process::Pid::from_child(&daemon.child);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let asked = request(heap, "ada", 1, &[]);
    let other = request(heap, "eve", 2, &[]);
    let mut first = std::pin::pin!(honest.call::<Reserve>(asked, Some(SOON)));
    tokio::time::timeout(Duration::from_millis(50), &mut first).await.unwrap_err();
    let rest: Vec<_> = [16 << 10, 4096, 1024, 256, 128, 64, 48, 32, 16].into_iter().map(fill).collect();
    let failure = honest.call::<Reserve>(request(heap, "", 3, &[]), Some(SOON)).await.unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Overloaded);
    // There is room for another request only if that of the first went.
    let mut second = std::pin::pin!(honest.call::<Reserve>(other, Some(SOON)));
    let second = tokio::time::timeout(Duration::from_millis(50), &mut second).await;
    println!("{second:?}");
    drop((rest, filled));
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    let response = first.await.unwrap();
    assert_eq!((response.room.as_str(), response.price), ("ada: ", 100));
}

/// A part of the test below.
#[tokio::test]
#[ignore = "a part of the test of signals"]
async fn an_application_that_is_interrupted() {
    let _signals = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::user_defined1()).unwrap();
    let Ok(path) = std::env::var("ATTACK_PATH") else { return };
    let client = Attach::new(&path, "interrupted").client::<Hotel>("hotel").await.unwrap();
    works(&client, 1).await;
    println!("attached");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let mut text = bertha_managed::heap::String::new_in(client.heap());
    let reserved = text.try_reserve(3 << 20);
    assert!(reserved.is_ok(), "{reserved:?}");
    let long = "x".repeat(20 << 20);
    let asked = request(client.heap(), "ada", 1, &[&long]);
    let response = client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
    assert!(response.room.as_str() == format!("ada: {long}"));
}

/// A signal does not end the wait for memory.
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_while_a_heap_grows() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let path = daemon.path.clone();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "--nocapture",
            "--test-threads=1",
            "an_application_that_is_interrupted",
        ])
        .env("ATTACK_PATH", &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let ended = tokio::task::spawn_blocking(move || {
        use rustix::process::{Pid, Signal, kill_process};
        use std::io::BufRead;
        let mut said = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        while !said.next().unwrap().unwrap().contains("attached") {}
        let pid = Pid::from_child(&daemon.child);
        kill_process(pid, Signal::STOP).unwrap();
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        let waiting = || {
            let threads = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
            threads.map(|thread| thread.unwrap()).find_map(|thread| {
                let call = std::fs::read_to_string(thread.path().join("syscall")).unwrap();
                let is_poll = matches!(call.split(' ').next(), Some("7" | "271"));
                // The main thread waits for the others.
                (is_poll).then(|| thread.file_name().to_str().unwrap().parse::<i32>().unwrap())
            })
        };
        let thread = loop {
            if let Some(thread) = waiting() {
                break thread;
            }
        };
        // The kernel has the thread of this number handle the signal.
        kill_process(Pid::from_raw(thread).unwrap(), Signal::USR1).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        kill_process(pid, Signal::CONT).unwrap();
        said.for_each(|line| println!("  {}", line.unwrap()));
        (child.wait().unwrap(), daemon)
    })
    .await
    .unwrap();
    assert!(ended.0.success());
}

/// Callers that keep as many calls open as they may, beside an honest caller of the same server, which answers one call after another.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "open: four attachments take all places for calls of a server"]
async fn floods_of_an_honest_server() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    let (count, longest) = beside("a flood of a server", honest, move || {
        let mut callers: Vec<_> = (0..6)
            .map(|_| {
                let mut caller = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
                let region = caller.grow(1 << 20).unwrap();
                (caller, region, 0_u64, 0_u64)
            })
            .collect();
        let begun = Instant::now();
        let mut total = 0;
        while begun.elapsed() < Duration::from_secs(3) {
            for (caller, _, said, heard) in &mut callers {
                while *said < *heard + 4_000 && caller.queue.try_say(&[ask(*said, 0, FIRST)]) == 1 {
                    *said += 1;
                }
                while let Some(bytes) = caller.queue.try_hear() {
                    let descriptor = Descriptor::read(bytes[..].try_into().unwrap()).unwrap();
                    let (Descriptor::Response { message, .. } | Descriptor::Failure { reason: message, .. }) =
                        descriptor
                    else {
                        continue;
                    };
                    *heard += 1;
                    total += 1;
                    let mut done = Done::default();
                    done.push(message.number);
                    caller.queue.try_say(&[Descriptor::Done(done).to_bytes()]);
                }
            }
        }
        total
    })
    .await;
    println!("  {count} outcomes, {longest:?}");
}

/// Many large schemas at once leave the processor to the calls.
#[tokio::test(flavor = "multi_thread")]
async fn schemas_at_once() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    let bytes = worst_schemas().swap_remove(2).1;
    let pid = daemon.child.id();
    let ((), longest) = beside("schemas at once", honest, move || {
        let hello = hello(Role::Caller, "evil", &bytes).to_bytes().unwrap();
        let sockets: Vec<_> = (0..100)
            .map(|_| {
                let mut socket = UnixStream::connect(&path).unwrap();
                let _said = socket.write_all(&hello);
                socket
            })
            .collect();
        std::thread::sleep(Duration::from_secs(1));
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().count();
        println!("  {threads} threads");
        std::thread::sleep(Duration::from_secs(4));
        drop(sockets);
    })
    .await;
    println!("{longest:?}");
}

/// Calls that come and are given up faster than a server takes them, while it answers one after another.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_given_up_do_not_stop_a_server() {
    let daemon = Process::start(&[]);
    let path = daemon.path.clone();
    let server = server(&daemon.path).await;
    let honest = client(&daemon.path).await;
    let (flooded, is_flooded) = tokio::sync::oneshot::channel();
    let flood = std::thread::spawn(move || {
        let mut caller = Attacker::attach(&path, &hello(Role::Caller, "hotel", Hotel::descriptors()));
        let _region = caller.grow(1 << 20).unwrap();
        let mut flooded = Some(flooded);
        for call in 0..40_000 {
            if call == 20_000 {
                flooded.take().unwrap().send(()).unwrap();
            }
            caller.queue.say(&ask(call, 0, FIRST));
            caller.queue.say(&cancel(call));
            while caller.queue.try_hear().is_some() {}
        }
    });
    is_flooded.await.unwrap();
    let _serving = serve(server);
    tokio::task::spawn_blocking(move || flood.join().unwrap()).await.unwrap();
    works(&honest, 10).await;
}

/// Requests that take the daemon long come one by one, and others in between.
#[tokio::test(flavor = "multi_thread")]
async fn others_come_between_requests_that_cost_much() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    let flags: Vec<_> = (1..=8_000)
        .map(|number| field(number, &format!("f{number}"), Type::Bool, Label::Optional, ""))
        .collect();
    let rows = vec![field(1, "rows", Type::Message, Label::Repeated, ".a.Wide")];
    let wide = schema(vec![message("Wide", flags), message("Rows", rows)], &[("Put", ".a.Rows", ".a.Rows")]);
    let mut evil = Attacker::attach(&daemon.path, &hello(Role::Server, "evil", &wide));
    take_regions(&evil.control);
    let mut caller = Attacker::attach(&daemon.path, &hello(Role::Caller, "evil", &wide));
    let region = caller.grow(1 << 20).unwrap();
    region.write(FIRST, &reference(FIRST + 16, (512 << 10) / 8_000));
    let requests: Vec<_> = (0..64).map(|call| ask(call, 0, FIRST)).collect();
    assert_eq!(caller.queue.try_say(&requests), 64);
    let Some(Descriptor::Request { .. }) = evil.queue.hear_of_call() else { panic!() };
    works(&honest, 1).await;
    let mut given = 1;
    while let Some(bytes) = evil.queue.try_hear() {
        let descriptor = Descriptor::read(bytes[..].try_into().unwrap()).unwrap();
        given += u32::from(matches!(descriptor, Descriptor::Request { .. }));
    }
    assert!(given < 64, "{given} requests were copied before a call of another application");
}

/// Applications that take all mappings that the system gives a process: what fails meanwhile works when they have gone.
#[tokio::test(flavor = "multi_thread")]
async fn mappings_that_run_out() {
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 10).await;
    let (files, mappings) = (daemon.files(), daemon.mappings());
    let path = daemon.path.clone();
    let attackers = tokio::task::spawn_blocking(move || {
        let mut attackers = Vec::new();
        for _ in 0..280 {
            let hello = hello(Role::Caller, "hotel", Hotel::descriptors());
            let Some(mut attacker) = Attacker::try_attach(&path, &hello) else { continue };
            for _ in 0..256 {
                attacker.control.write_all(&Grow { bytes: 65536 }.to_bytes()).unwrap();
                if !matches!(hear(&attacker.control), Some((Answer::Granted { .. }, _))) {
                    break;
                }
            }
            attackers.push(attacker);
        }
        attackers
    })
    .await
    .unwrap();
    println!("{} attackers, {} mappings", attackers.len(), daemon.mappings());
    let long = "x".repeat(3 << 20);
    let asked = |client: &Client<Hotel>| {
        let mut guests = bertha_managed::heap::Vec::new_in(client.heap());
        let mut text = bertha_managed::heap::String::new_in(client.heap());
        text.try_reserve(long.len()).ok()?;
        text.push_str(&long);
        guests.push(text);
        let customer = bertha_managed::heap::String::new_in(client.heap());
        Some(hotel::Request { customer, nights: 1, guests })
    };
    match asked(&honest) {
        Some(asked) => println!("{:?}", honest.call::<Reserve>(asked, Some(SOON)).await.err()),
        None => println!("no memory"),
    }
    let late = daemon.attach().within(Duration::from_secs(3)).client::<Hotel>("hotel").await;
    println!("late: {:?}", late.err());
    drop(attackers);
    assert!(daemon.settles(files), "{files} -> {}", daemon.files());
    println!("mappings {mappings} -> {}", daemon.mappings());
    let late = client(&daemon.path).await;
    for client in [&late, &honest] {
        let asked = asked(client).unwrap();
        let outcome = client.call::<Reserve>(asked, Some(SOON)).await;
        println!("afterwards: {:?}", outcome.as_ref().err());
        outcome.unwrap();
    }
    assert!(daemon.mappings() <= mappings + 50, "{mappings} -> {}", daemon.mappings());
}

/// A schema with as many methods as there may be, for each of which a policy looks for its field.
#[tokio::test(flavor = "multi_thread")]
async fn policies_on_many_methods() {
    let daemon = Process::start(&["--engine", "evil:acl:field=next.next.next.text deny=eve"]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    let path = daemon.path.clone();
    let methods: Vec<_> = (0..bertha_schemas::Schema::METHODS)
        .map(|number| (format!("P{number}"), ".a.Node".into(), ".a.Node".into()))
        .collect();
    let messages = vec![message("Empty", vec![]), node()];
    let bytes = FileDescriptorSet { file: vec![file(messages, "A", &methods)] }.encode_to_vec();
    let (taken, longest) = beside("policies", honest, move || {
        (0..10)
            .filter(|_| Attacker::try_attach(&path, &hello(Role::Caller, "evil", &bytes)).is_some())
            .count()
    })
    .await;
    println!("  {taken} taken");
    assert!(taken == 10 && longest < Duration::from_secs(1), "{longest:?}");
}

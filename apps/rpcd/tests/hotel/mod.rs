//! A hotel, whose rooms are reserved through a daemon.
#![allow(unsafe_code)]
#![allow(dead_code, reason = "no test uses all of it")]
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_core::Addr;
use bertha_managed::application::{Attach, Client, Incoming, Server};
use bertha_managed::heap::{Heap, String, Vec};
use bertha_managed::{Method, Service};
use bertha_rpcd::{Daemon, Operator, PeerAddr, PeerTls, Peers, Settings};
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto,
    ServiceDescriptorProto,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// The service, with the methods `Ping` and `Reserve`.
#[derive(Debug)]
pub(crate) struct Hotel;

/// A service with methods of the same names, and another field in a request.
#[derive(Debug)]
pub(crate) struct OtherHotel;

/// The service, with the methods `Watch`, `Upload` and `Talk`, too, which have streams.
#[derive(Debug)]
pub(crate) struct StreamingHotel;

#[repr(C)]
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) customer: String,
    pub(crate) nights: i32,
    pub(crate) guests: Vec<String>,
}

#[repr(C)]
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) room: String,
    pub(crate) price: i32,
}

#[repr(C)]
#[derive(Debug)]
pub(crate) struct Empty {}

/// A request whose guests are addresses and lengths that its maker chooses.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Forged {
    pub(crate) customer: String,
    pub(crate) nights: i32,
    pub(crate) guests: Vec<[u64; 2]>,
}

#[derive(Debug)]
pub(crate) struct Forge;

#[derive(Debug)]
pub(crate) struct Ping;
#[derive(Debug)]
pub(crate) struct Reserve;

/// `Reserve` of the service with streams.
#[derive(Debug)]
pub(crate) struct ReserveBesideStreams;

fn field(number: i32, name: &str, kind: Type, label: Label) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        label: Some(label as i32),
        r#type: Some(kind as i32),
        ..Default::default()
    }
}

/// Returns the schema, with this name of a request's first field.
fn schema(customer: &str) -> std::vec::Vec<u8> {
    let message =
        |name: &str, field| DescriptorProto { name: Some(name.into()), field, ..Default::default() };
    let method = |name: &str, request: &str, response: &str| MethodDescriptorProto {
        name: Some(name.into()),
        input_type: Some(request.into()),
        output_type: Some(response.into()),
        ..Default::default()
    };
    let request = vec![
        field(1, customer, Type::String, Label::Optional),
        field(2, "nights", Type::Int32, Label::Optional),
        field(3, "guests", Type::String, Label::Repeated),
    ];
    let response = vec![
        field(1, "room", Type::String, Label::Optional),
        field(2, "price", Type::Int32, Label::Optional),
    ];
    let methods = vec![
        method("Ping", ".hotel.Empty", ".hotel.Empty"),
        method("Reserve", ".hotel.Request", ".hotel.Response"),
    ];
    let file = FileDescriptorProto {
        name: Some("hotel.proto".into()),
        package: Some("hotel".into()),
        syntax: Some("proto3".into()),
        message_type: vec![
            message("Empty", vec![]),
            message("Request", request),
            message("Response", response),
        ],
        service: vec![ServiceDescriptorProto {
            name: Some("Hotel".into()),
            method: methods,
            ..Default::default()
        }],
        ..Default::default()
    };
    FileDescriptorSet { file: vec![file] }.encode_to_vec()
}

// SAFETY: the structures have their fields in the order of the schema, with a C layout, and consist of numbers and of what heaps offer.
unsafe impl Service for Hotel {
    const NAME: &'static str = "hotel.Hotel";

    fn descriptors() -> &'static [u8] {
        static SCHEMA: OnceLock<std::vec::Vec<u8>> = OnceLock::new();
        SCHEMA.get_or_init(|| schema("customer"))
    }
}

// SAFETY: as above; names are no part of the layout.
unsafe impl Service for OtherHotel {
    const NAME: &'static str = "hotel.Hotel";

    fn descriptors() -> &'static [u8] {
        static SCHEMA: OnceLock<std::vec::Vec<u8>> = OnceLock::new();
        SCHEMA.get_or_init(|| schema("guest"))
    }
}

/// Returns the schema, with methods that have streams.
fn with_streams() -> std::vec::Vec<u8> {
    let mut set = FileDescriptorSet::decode(Hotel::descriptors()).unwrap();
    let methods = &mut set.file[0].service[0].method;
    for (name, of_requests, of_responses) in
        [("Watch", false, true), ("Upload", true, false), ("Talk", true, true)]
    {
        methods.push(MethodDescriptorProto {
            name: Some(name.into()),
            client_streaming: Some(of_requests),
            server_streaming: Some(of_responses),
            ..methods[1].clone()
        });
    }
    set.encode_to_vec()
}

// SAFETY: as of the service without streams.
unsafe impl Service for StreamingHotel {
    const NAME: &'static str = "hotel.Hotel";

    fn descriptors() -> &'static [u8] {
        static SCHEMA: OnceLock<std::vec::Vec<u8>> = OnceLock::new();
        SCHEMA.get_or_init(with_streams)
    }
}

// SAFETY: `Ping` alone comes before, in the order of names and in that of the schema.
unsafe impl Method for ReserveBesideStreams {
    type Service = StreamingHotel;
    type Request = Request;
    type Response = Response;
    const NAME: &'static str = "Reserve";
    const NUMBER: u32 = 1;
}

// SAFETY: `Ping` comes before `Reserve`.
unsafe impl Method for Ping {
    type Service = Hotel;
    type Request = Empty;
    type Response = Empty;
    const NAME: &'static str = "Ping";
    const NUMBER: u32 = 0;
}

// SAFETY: `Reserve` comes behind `Ping`.
unsafe impl Method for Reserve {
    type Service = Hotel;
    type Request = Request;
    type Response = Response;
    const NAME: &'static str = "Reserve";
    const NUMBER: u32 = 1;
}

// SAFETY: as `Reserve`. Nobody receives its requests, whose guests are as large as texts.
unsafe impl Method for Forge {
    type Service = Hotel;
    type Request = Forged;
    type Response = Response;
    const NAME: &'static str = "Reserve";
    const NUMBER: u32 = 1;
}

/// A daemon that runs until this is dropped, on a thread of its own: an application whose heap grows waits for it with its thread.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) operator: Operator,
    pub(crate) path: PathBuf,
    /// The address at which other daemons connect.
    pub(crate) peer_addr: Option<PeerAddr>,
    /// The address at which callers of gRPC connect.
    pub(crate) grpc_addr: Option<Addr>,
    pub(crate) runtime: tokio::runtime::Handle,
    /// The folder in which the system tells of the thread of the daemon's runtime.
    pub(crate) task: PathBuf,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _folder: Option<tempfile::TempDir>,
}

impl Running {
    pub(crate) fn start() -> Self {
        Self::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut running = Self::at(folder.path().join("rpcd"), settings);
        running._folder = Some(folder);
        running
    }

    pub(crate) fn at(path: PathBuf, settings: Settings) -> Self {
        Self::on(tokio::runtime::Builder::new_current_thread(), path, settings)
    }

    /// Starts a daemon with several threads for calls.
    pub(crate) fn threaded(threads: usize) -> Self {
        Self::threaded_with(threads, Settings::default())
    }

    pub(crate) fn threaded_with(threads: usize, settings: Settings) -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        runtime.worker_threads(threads);
        let folder = tempfile::tempdir().unwrap();
        let mut running = Self::on(runtime, folder.path().join("rpcd"), settings);
        running._folder = Some(folder);
        running
    }

    fn on(mut runtime: tokio::runtime::Builder, path: PathBuf, settings: Settings) -> Self {
        let ((end, ended), (begin, begun)) = (oneshot::channel(), std::sync::mpsc::channel());
        let settings = everywhere(settings);
        let socket = path.clone();
        let thread = std::thread::spawn(move || {
            let runtime = runtime.enable_all().build().unwrap();
            runtime.block_on(async {
                let daemon = Daemon::listen(&socket, settings).await.unwrap();
                let addrs = (daemon.peer_addr().cloned(), daemon.grpc_addr().cloned());
                let task = Path::new("/proc").join(std::fs::read_link("/proc/thread-self").unwrap());
                let handle = tokio::runtime::Handle::current();
                begin.send((daemon.operator(), addrs, handle, task)).unwrap();
                tokio::select! {
                    ended = daemon.run() => ended.unwrap(),
                    _ = ended => {}
                }
            });
        });
        let (operator, (peer_addr, grpc_addr), runtime, task) = begun.recv().unwrap();
        let (end, thread) = (Some(end), Some(thread));
        Self { operator, path, peer_addr, grpc_addr, runtime, task, end, thread, _folder: None }
    }

    /// Starts a daemon whose calls go to a server at another, and that other.
    pub(crate) fn pair(tls: Option<PeerTls>) -> [Self; 2] {
        let peers =
            Peers { listen: Some("127.0.0.1:0".parse().unwrap()), tls: tls.clone(), ..Peers::default() };
        let far = Self::with(Settings { peers, ..Settings::default() });
        let routes =
            vec![("hotel".into(), bertha_rpcd::Route::Daemon(far.peer_addr.clone().unwrap()).into())];
        let near =
            Self::with(Settings { peers: Peers { routes, tls, ..Peers::default() }, ..Settings::default() });
        [near, far]
    }

    /// Returns the way of an application to the daemon.
    pub(crate) fn attach(&self) -> Attach {
        Attach::new(&self.path, "test")
    }

    pub(crate) async fn client(&self) -> Client<Hotel> {
        self.attach().client("hotel").await.unwrap()
    }

    pub(crate) async fn server(&self) -> Server<Hotel> {
        self.attach().server("hotel").await.unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            assert!(std::thread::panicking(), "the daemon panicked");
        }
    }
}

/// Gives the hotel a thread of its own in the tests of `dedicated`, which has those of other files.
fn everywhere(mut settings: Settings) -> Settings {
    if module_path!().starts_with("dedicated::") {
        settings.dedicated.push("hotel".into());
    }
    settings
}

/// Returns a request of a customer, with guests of these names.
pub(crate) fn request(heap: &Heap, customer: &str, nights: i32, names: &[&str]) -> Request {
    let mut guests = Vec::new_in(heap);
    guests.extend(names.iter().map(|name| String::from_str_in(name, heap)));
    Request { customer: String::from_str_in(customer, heap), nights, guests }
}

/// Writes bytes that are no text, and others, to a byte of a text that is being sent, until that has ended.
pub(crate) fn flip(text: &String, ended: Arc<AtomicBool>) -> JoinHandle<()> {
    let byte = text.as_ptr().wrapping_add(text.len() / 2).addr();
    std::thread::spawn(move || {
        let byte = std::ptr::with_exposed_provenance_mut(byte);
        // SAFETY: the heap is mapped until its client is dropped, behind the end, and only other processes and the kernel use the text meanwhile.
        let byte = unsafe { AtomicU8::from_ptr(byte) };
        while !ended.load(Ordering::Relaxed) {
            for value in [0xff, b'B'] {
                byte.store(value, Ordering::Relaxed);
                std::thread::yield_now();
            }
        }
    })
}

/// Answers a call as a hotel does: the room is named after the customer and the guests, and each night costs a hundred. One
/// of the customer `slow` gets no response. Returns the number of nights.
pub(crate) async fn answer(mut call: Incoming<Hotel>) -> Option<i32> {
    match call.method() {
        Ping::NUMBER => {
            call.respond::<Ping>(Empty {}).await.unwrap();
            None
        }
        _ => {
            let request = call.request::<Reserve>().unwrap();
            if request.customer.as_str() == "slow" {
                drop(request);
                tokio::spawn(async move {
                    std::future::pending::<()>().await;
                    drop(call);
                });
                return None;
            }
            let guests: std::vec::Vec<&str> = request.guests.iter().map(String::as_str).collect();
            let room = format!("{}: {}", request.customer.as_str(), guests.join(", "));
            let response =
                Response { room: String::from_str_in(&room, call.heap()), price: 100 * request.nights };
            let nights = request.nights;
            drop(request);
            call.respond::<Reserve>(response).await.unwrap();
            Some(nights)
        }
    }
}

/// Serves calls in a task until the daemon ends.
pub(crate) fn serve(mut server: Server<Hotel>) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        while let Ok(call) = server.next().await {
            answer(call).await;
        }
    })
}

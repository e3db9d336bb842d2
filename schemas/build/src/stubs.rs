//! The client of a service, and the interface of its servers.

use crate::code::{block, function};
use crate::names;
use crate::source::Scope;
use prost_types::{MethodDescriptorProto, ServiceDescriptorProto};

/// Names of functions that each client has.
const OF_CLIENTS: [&str; 3] = ["deadline", "heap", "new"];

/// Returns the client, the interface of handlers, and the server.
pub(crate) fn items(scope: &Scope<'_>, described: &ServiceDescriptorProto) -> Vec<String> {
    let methods: Vec<_> =
        described.method.iter().enumerate().map(|(index, method)| Stub::of(scope, index, method)).collect();
    let mut client = vec![
        function(
            "Makes a client of one that is attached, whose calls have no deadline.",
            "new(attached: ::bertha_managed::application::Client<Service>) -> Self",
            "Self { attached, within: None }\n",
        ),
        function(
            "Sets the time within which the response to each call has to come.",
            "deadline(self, within: ::core::time::Duration) -> Self",
            "Self { within: Some(within), ..self }\n",
        ),
        function(
            "Returns the heap in which requests are made, of the daemon that is there now.",
            "heap(&self) -> ::bertha_managed::heap::Heap",
            "self.attached.heap()\n",
        ),
    ];
    client.extend(methods.iter().map(Stub::call));
    let declared: Vec<_> = methods.iter().map(Stub::declared).collect();
    let cases: String = methods.iter().map(Stub::case).collect();
    let handle = format!(
        "#[allow(clippy::single_match, reason = \"a service may have one method\")]
async fn handle(&self, mut call: ::bertha_managed::application::Incoming<Service>) {{
    match call.method() {{
{cases}        // The daemon passes no other methods on.
        _ => {{}}
    }}
}}
"
    );
    let docs = "/// The work of a server of the service. A call whose deadline passes is dropped.\n";
    vec![
        CLIENT.to_owned(),
        block("impl Client", &client),
        block(&format!("{docs}pub trait Handler: Send + Sync + 'static"), &declared),
        SERVER.to_owned(),
        block("impl<H: Handler> ::bertha_managed::application::Handle<Service> for Server<H>", &[handle]),
    ]
}

/// The parts of a stub of a method.
struct Stub {
    docs: String,
    function: String,
    method: String,
    request: String,
    response: String,
}

impl Stub {
    fn of(scope: &Scope<'_>, index: usize, method: &MethodDescriptorProto) -> Self {
        let path = |reference| scope.source.path(&scope.modules, reference);
        let name = names::identifier(method.name());
        Self {
            docs: scope.part(2, index, method.name()).docs("method"),
            function: if OF_CLIENTS.contains(&name.as_str()) { name + "_" } else { name },
            method: names::type_name(method.name()),
            request: path(method.input_type()),
            response: path(method.output_type()),
        }
    }

    fn call(&self) -> String {
        let Self { docs, function, method, request, response } = self;
        format!(
            "{docs}///
/// # Errors
/// A failure, which tells if the call may have run.
pub async fn {function}(
    &self,
    request: {request},
) -> Result<::bertha_managed::application::Lent<{response}>, ::bertha_managed::Failure> {{
    self.attached.call::<{method}>(request, self.within).await
}}
"
        )
    }

    fn declared(&self) -> String {
        let Self { docs, function, request, response, .. } = self;
        format!(
            "{docs}fn {function}(
    &self,
    request: ::bertha_managed::application::Lent<{request}>,
    heap: &::bertha_managed::heap::Heap,
) -> impl Future<Output = Result<{response}, ::bertha_managed::Failure>> + Send;
"
        )
    }

    fn case(&self) -> String {
        let Self { function, method, .. } = self;
        format!(
            "        <{method} as ::bertha_managed::Method>::NUMBER => {{
            if let Some(request) = call.request::<{method}>() {{
                let outcome = self.0.{function}(request, call.heap()).await;
                call.finish::<{method}>(outcome).await;
            }}
        }}
"
        )
    }
}

const CLIENT: &str = "/// A client of the service. Any number of tasks call at once.
#[derive(Debug)]
pub struct Client {
    attached: ::bertha_managed::application::Client<Service>,
    within: Option<::core::time::Duration>,
}
";

const SERVER: &str = "/// A server of the service, by a handler.
#[derive(Debug)]
pub struct Server<H>(pub H);
";

//! Traits that are no services.

use super::expand;
use crate::refusal::{self, attribute};
use syn::parse_quote;

#[track_caller]
fn refuses(source: &str, message: &str) {
    let expand = |source| {
        let (arguments, item) = attribute(source);
        expand(&arguments, item, &parse_quote!(::bertha::rpc))
    };
    refusal::refuses(expand, source, message);
}

const PARAMETERS: &str =
    "a method of a service has no parameters: the other end can't know which types they are";
const RECEIVER: &str = "a method of a service takes `&self`: calls run at the same time";
const OWNS: &str = "an argument is sent to another process, so it owns its data: `String` instead of `&str`, `Vec<T>` instead of `&[T]`";
const SYNCHRONOUS: &str =
    "a method of a service is an `async fn`, or a `fn` that returns `impl Stream<Item = T>`";

#[test]
fn a_service_is_a_plain_trait() {
    refuses("#[service(«4»)] trait Greeter {}", "`#[bertha::service]` takes no arguments");
    refuses("#[service] «struct» NoTrait;", "`#[bertha::service]` stands on a trait");
    refuses(
        "#[service] trait Cache<«K»> { async fn get(&self, key: K) -> String; }",
        "a service has no parameters: the other end can't know which types they are",
    );
    refuses(
        "#[service] trait Greeter: «Clone» { async fn greet(&self); }",
        "a service has no supertraits but `Send`, `Sync` and `'static`, which it gets by itself",
    );
    refuses("#[service] trait «Greeter» {}", "a service has at least one method");
    refuses("#[service] trait Greeter { «type Name;» }", "a service has methods only");
}

/// A call takes time, so its method is asynchronous, or a stream.
#[test]
fn a_synchronous_method_is_refused() {
    refuses("#[service] trait Greeter { «fn greet(&self, name: String) -> String»; }", SYNCHRONOUS);
    refuses("#[service] trait Greeter { «fn count(&self) -> impl Iterator<Item = u32>»; }", SYNCHRONOUS);
}

#[test]
fn a_method_of_another_form_is_refused() {
    refuses(
        "#[service] trait Greeter { async fn greet(&self) «{ 7 }» }",
        "a method of a service has no body here; the server's type implements it",
    );
    refuses("#[service] trait Greeter { async fn greet<«T»>(&self, of: T); }", PARAMETERS);
    refuses("#[service] trait Counter { async fn count(«&mut self») -> u64; }", RECEIVER);
    refuses("#[service] trait Counter { async fn count(«self») -> u64; }", RECEIVER);
    refuses("#[service] trait Counter { async fn «count»() -> u64; }", RECEIVER);
    refuses("#[service] trait Counter { async fn count(«from: u64») -> u64; }", RECEIVER);
}

/// A value that is sent to another process owns its data.
#[test]
fn borrowed_values_are_refused() {
    refuses("#[service] trait Greeter { async fn greet(&self, name: «&str») -> String; }", OWNS);
    refuses("#[service] trait Greeter { async fn greet(&self, context: «&mut Context»); }", OWNS);
    refuses("#[service] trait Greeter { async fn greet(&self, context: «&Context<u8>»); }", OWNS);
    refuses(
        "#[service] trait Greeter { async fn greet(&self) -> «&str»; }",
        "a response is sent to another process, so it owns its data",
    );
}

#[test]
fn a_method_has_one_context() {
    refuses(
        "#[service] trait Greeter { async fn greet(&self, one: &Context, name: String, «other: &rpc::Context»); }",
        "a method of a service has at most one `&Context`",
    );
    refuses(
        "#[service] trait Greeter { async fn greet(&self, «_»: &Context); }",
        "an argument of a service has a name and no pattern",
    );
}

#[test]
fn a_stream_of_requests_comes_last_and_is_never_repeated() {
    refuses(
        "#[service] trait Log { async fn write(&self, lines: rpc::Requests<String>, «to: String»); }",
        "the `rpc::Requests` of a method are its last parameter",
    );
    refuses(
        "#[service] trait Log { async fn write(&self, lines: bertha::rpc::Requests<u8>, «of: &Context»); }",
        "the `rpc::Requests` of a method are its last parameter",
    );
    refuses(
        "#[service] trait Log { #[idempotent] async fn write(&self, lines: «rpc::Requests<String>»); }",
        "a call with a stream of requests is never repeated, so its method is not `#[idempotent]`",
    );
}

#[test]
fn an_argument_has_a_name_and_a_response_a_type() {
    refuses(
        "#[service] trait Adder { async fn add(&self, «(a, b)»: (u32, u32)) -> u32; }",
        "an argument of a service has a name and no pattern",
    );
    refuses(
        "#[service] trait Counter { async fn count(&self) -> «impl Stream<Item = u32>»; }",
        "a stream of responses comes from a `fn`, not from an `async fn`",
    );
}

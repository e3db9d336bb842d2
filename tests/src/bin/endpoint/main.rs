//! A process of a test in which everything fails that can: it does its part forever, and writes down what
//! happens.
//!
//! * `endpoint participate STORE NAME HISTORY` joins the connection `NAME` through the store at this address,
//!   and follows every agreement.
//! * `endpoint serve ADDR HISTORY` receives streams of numbers, and reports its progress.
//! * `endpoint stream SERVER HISTORY` sends such streams one after another, and changes their stacks
//!   meanwhile.

mod history;
mod participant;
mod stream;

use bertha_core::{Error, ErrorKind};
use history::History;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["participate", store, name, history] => {
            participant::run(store, name, &History::create(history)?).await
        }
        ["serve", at, history] => stream::serve(at.parse()?, History::create(history)?).await,
        ["stream", to, history] => stream::send(&to.parse()?, &History::create(history)?).await,
        _ => Err(Error::new(ErrorKind::Invalid, "usage: endpoint participate|serve|stream ...")),
    }
}

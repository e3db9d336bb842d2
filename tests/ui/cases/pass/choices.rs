//! Choices in choices, with preferences, of single Chunnels and of stacks.

use bertha_chunnels::serialize::Bincode;
use bertha_chunnels::{Nothing, Serialize};
use bertha_core::{
    Connection, Describe, Error, NumParticipantsAtMost, Policy, Situation, make_stack, select,
};
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::Negotiate;
use std::fmt;

/// A policy of a user's own, with a reference and a parameter.
struct Between<'a>(&'a str, usize);

impl Policy for Between<'static> {
    fn holds(&self, situation: &Situation) -> bool {
        (self.0.len()..self.1).contains(&situation.participants())
    }
}

impl fmt::Display for Between<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Between({}, {})", self.0, self.1)
    }
}

async fn client(datapath: SimDatapath) -> Result<String, Error> {
    let codec = select!(
        Serialize::<String>::new(),
        select!(
            Serialize::<String, Bincode>::new(),
            make_stack!(Nothing, Serialize::<String, Bincode>::new(), Nothing);
            prefer 1
        ),
    );
    let stack = make_stack!(Nothing, codec, select!(make_stack!(Nothing, Nothing), make_stack!(), Nothing; prefer 2));
    let connection = stack.connect(datapath, ([10, 0, 0, 2], 4242)).await?;
    connection.send("hello".into()).await?;
    connection.recv().await
}

fn main() {
    let _ = client;
    let stack = make_stack!(select!(Nothing, make_stack!(), Nothing; prefer 1));
    assert_eq!(stack.explain().to_string(), "(Nothing | nothing | Nothing; prefers the latter)");
    let few = 2;
    let stack = make_stack!(select!(Nothing, make_stack!(), Nothing; prefer 0 if NumParticipantsAtMost(few)));
    assert_eq!(
        stack.explain().to_string(),
        "(Nothing | nothing | Nothing; prefers the former if NumParticipantsAtMost(2))"
    );
    let stack = make_stack!(select!(Nothing, make_stack!(); prefer 1 if Between("a", 5)));
    assert_eq!(stack.explain().to_string(), "(Nothing | nothing; prefers the latter if Between(a, 5))");
    let boxed = select!(Nothing, make_stack!()).prefer_if(1, Between("a", 5));
    assert_eq!(boxed.explain().to_string(), stack.explain().to_string());
}

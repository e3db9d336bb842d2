//! Engines of operators, which come from libraries while calls flow.

use crate::built;
use crate::hotel::Running;
use crate::numbered::{Numbered, recorded, reserve};
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::Order;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) fn load(path: &Path) -> Order {
    Order::Load { path: path.to_str().unwrap().into() }
}

fn unload(kind: &str) -> Order {
    Order::Unload { kind: kind.into() }
}

fn add(name: &str, kind: &str, settings: &str) -> Order {
    let [service, name, kind, settings] = ["hotel", name, kind, settings].map(Into::into);
    Order::Add { service, name, kind, settings }
}

fn upgrade(name: &str, kind: &str) -> Order {
    let [service, name, kind] = ["hotel", name, kind].map(Into::into);
    Order::Upgrade { service, name, kind }
}

fn configure(name: &str, settings: &str) -> Order {
    let [service, name, settings] = ["hotel", name, settings].map(Into::into);
    Order::Configure { service, name, settings }
}

fn remove(name: &str) -> Order {
    Order::Remove { service: "hotel".into(), name: name.into() }
}

#[tokio::test]
async fn a_thousand_changes_of_libraries_lose_repeat_and_swap_no_call() {
    let folder = tempfile::tempdir().unwrap();
    let mut versions = vec![built::in_rust(folder.path())];
    versions.extend(built::in_c(folder.path()));
    let daemon = Running::start();
    let numbered = Numbered::start(&daemon).await;
    let mut changes = 0;
    let mut version = versions.iter().cycle();
    while changes < 1_000 {
        // Another version each time, in Rust or in C.
        let [first, second] = [version.next().unwrap(), version.next().unwrap()];
        version.next();
        for order in [
            load(first),
            add("pace", "pace", "microseconds=100 field=customer deny=eve"),
            load(second),
            upgrade("pace", "pace"),
            configure("pace", "microseconds=0"),
            add("again", "pace", "microseconds=50"),
            configure("pace", "microseconds=1000000"),
            upgrade("pace", "pace"),
            remove("pace"),
            upgrade("again", "pace"),
            remove("again"),
            unload("pace"),
        ] {
            order.give(&daemon.path).await.unwrap();
            changes += 1;
        }
    }
    assert_eq!(Order::List.give(&daemon.path).await.unwrap(), "hotel\ttest\t2\t\n");
    numbered.end([daemon]).await;
}

#[tokio::test]
async fn libraries_are_loaded_listed_used_and_unloaded() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Running::start();
    let _serving = recorded(daemon.server().await);
    let client = daemon.client().await;
    let give = async |order: Order| order.give(&daemon.path).await;
    let refusal = async |order: Order| give(order).await.unwrap_err().to_string();
    let library = built::in_rust(folder.path());
    let line = format!("pace\t{}\n", library.display());
    assert!(refusal(add("p", "pace", "")).await.contains("there is no engine pace"));
    give(load(&library)).await.unwrap();
    assert_eq!(give(Order::List).await.unwrap(), format!("hotel\ttest\t1\t\n\n{line}"));
    assert!(refusal(add("p", "pac", "")).await.ends_with("trace, and those that are loaded pace"));
    assert!(
        refusal(add("p", "pace", "field=pet")).await.contains("no method takes a request with a value there")
    );
    give(add("p", "pace", "field=customer deny=eve")).await.unwrap();
    assert_eq!(reserve(&client, "eve", 1).await, Err(FailureKind::Denied));
    assert_eq!(reserve(&daemon.client().await, "eve", 1).await, Err(FailureKind::Denied));
    assert_eq!(reserve(&client, "ada", 1).await, Ok(100));
    assert!(refusal(unload("pace")).await.contains("the engine p of hotel is of this kind"));
    // Both versions are there until no engine is of the former.
    give(load(&library)).await.unwrap();
    assert!(give(Order::List).await.unwrap().ends_with(&format!("\n{line}{line}")));
    give(upgrade("p", "pace")).await.unwrap();
    assert!(give(Order::List).await.unwrap().ends_with(&format!("\n\n{line}")));
    assert_eq!(reserve(&client, "eve", 1).await, Err(FailureKind::Denied));
    assert!(refusal(upgrade("p", "null")).await.contains("an upgrade keeps the kind"));
    give(remove("p")).await.unwrap();
    give(unload("pace")).await.unwrap();
    assert!(!give(Order::List).await.unwrap().contains("pace"));
    assert!(refusal(unload("pace")).await.contains("no engine pace is loaded"));
    assert!(refusal(unload("null")).await.contains("no engine null is loaded"));
    assert_eq!(reserve(&client, "eve", 1).await, Ok(100));
}

#[tokio::test]
async fn what_is_no_library_is_refused_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Running::start();
    let refusal = async |path: PathBuf| load(&path).give(&daemon.path).await.unwrap_err().to_string();
    let text = folder.path().join("text.so");
    std::fs::write(&text, "no library").unwrap();
    built::set_mode(&text, 0o644);
    assert!(refusal(text).await.contains("text.so is not loaded: it is no shared library"));
    assert!(refusal(folder.path().join("none.so")).await.contains("none.so is not loaded"));
    assert!(refusal("pace.so".into()).await.contains("its path has to be absolute"));
    let source = folder.path().join("lacking.c");
    std::fs::write(&source, "int lacking(void); int call(void); int call(void) { return lacking(); }")
        .unwrap();
    let lacking = folder.path().join("lacking.so");
    if built::compile(&source, &lacking, &["-shared", "-fPIC"]) {
        built::set_mode(&lacking, 0o755);
        let refused = refusal(lacking).await;
        assert!(refused.contains("lacking.so is not loaded: the system does not open it: "), "{refused}");
        assert!(refused.contains("undefined symbol: lacking"), "{refused}");
    }
    let open = built::in_rust(folder.path());
    built::set_mode(&open, 0o777);
    assert!(refusal(open).await.contains("others than its owner may write it"));
    if let Some(named) = built::wrong(folder.path(), "wrong.so", &["-DNAME=\"acl\""]) {
        assert!(refusal(named).await.contains("an engine acl is built in"));
    }
    assert_eq!(Order::List.give(&daemon.path).await.unwrap(), "");
}

#[tokio::test]
async fn an_upgrade_that_one_caller_refuses_is_undone_for_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let other = built::wrong(folder.path(), "other.so", &["-DNAME=\"pace\"", "-DRESTORES=1"]);
    let Some(other) = other else { return };
    let daemon = Running::start();
    let _serving = recorded(daemon.server().await);
    let clients = [daemon.client().await, daemon.client().await];
    for order in
        [load(&built::in_rust(folder.path())), add("pace", "pace", "field=customer deny=eve"), load(&other)]
    {
        order.give(&daemon.path).await.unwrap();
    }
    let refused = upgrade("pace", "pace").give(&daemon.path).await.unwrap_err().to_string();
    assert!(refused.contains("no state suits"), "{refused}");
    for client in &clients {
        assert_eq!(reserve(client, "eve", 1).await, Err(FailureKind::Denied));
        assert_eq!(reserve(client, "ada", 1).await, Ok(100));
    }
    assert_eq!(reserve(&daemon.client().await, "eve", 1).await, Err(FailureKind::Denied));
}

#[tokio::test]
async fn libraries_of_the_command_line_are_there_from_the_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("rpcd");
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_bertha-rpcd"));
    command.arg("--socket").arg(&socket).arg("--load").arg(built::in_rust(folder.path()));
    let mut daemon =
        command.args(["--engine", "hotel:pace:microseconds=1"]).kill_on_drop(true).spawn().unwrap();
    let listed = loop {
        match Order::List.give(&socket).await {
            Ok(listed) if !listed.is_empty() => break listed,
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
        assert_eq!(daemon.try_wait().unwrap(), None);
    };
    assert!(listed.starts_with("hotel\tnone\t0\tpace (pace microseconds=1)\n\npace\t/"), "{listed}");
    let mut missing = tokio::process::Command::new(env!("CARGO_BIN_EXE_bertha-rpcd"));
    let missing =
        missing.arg("--socket").arg(folder.path().join("other")).args(["--load", "/none.so"]).output();
    let output = missing.await.unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("/none.so is not loaded"), "{output:?}");
}

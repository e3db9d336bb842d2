//! Other users of the machine, who look for the memory of processes.

use super::*;

/// Tells of each file among its arguments that can be opened.
const OPEN: &str = "for file; do (exec <\"$file\") && echo \"$file\"; done; true";

/// A file that each user can open.
const OPENED: &str = "/dev/null";

/// Returns the ways to the memory of a process, of which the system has files.
fn ways(process: u32) -> Vec<PathBuf> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let entries = ["fd", "map_files"].map(|name| std::fs::read_dir(folder.join(name)).unwrap());
    let paths = entries.into_iter().flatten().map(|entry| entry.unwrap().path());
    // What was there a moment ago may have gone.
    let is_shared = |path: &PathBuf| {
        std::fs::read_link(path).is_ok_and(|to| to.to_string_lossy().starts_with("/memfd:bertha-shm"))
    };
    let shared: Vec<_> = paths.filter(is_shared).collect();
    assert!(shared.iter().any(|path| path.starts_with(folder.join("map_files"))), "{shared:?}");
    shared.into_iter().chain([folder.join("mem")]).collect()
}

/// Returns the files that a process of a user can open.
fn opened_by(user: u32, files: &[PathBuf]) -> Vec<PathBuf> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", OPEN, "sh", OPENED]).args(files).uid(user).gid(user).stderr(Stdio::null());
    let told = String::from_utf8(command.output().unwrap().stdout).unwrap();
    told.lines().map(PathBuf::from).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_user_opens_no_memory_of_applications_nor_of_the_daemon() {
    if !rustix::process::geteuid().is_root() {
        return bertha_tests::skip("other users need root");
    }
    let daemon = Process::start(&[]);
    let _serving = serve(server(&daemon.path).await);
    let honest = client(&daemon.path).await;
    works(&honest, 1).await;
    // The applications are in this process.
    let [of_daemon, of_applications] = [daemon.child.id(), std::process::id()].map(ways);
    assert!(opened_by(0, &of_daemon).len() > 1, "root opens none of {of_daemon:?}");
    for files in [of_daemon, of_applications] {
        assert_eq!(opened_by(65534, &files), [PathBuf::from(OPENED)], "of {files:?}");
    }
}

//! `wrk` at `nginx`: a file of 4 KiB over connections that stay.

use super::server::Server;
use super::ways::Way;
use super::{compare, failed, in_turn};
use crate::harness::{Effort, run_on};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use std::path::Path;
use std::process::Output;

const REQUESTS: Budget = Budget::AtLeast(1.3);

/// Adds the rows.
///
/// # Errors
/// Errors of either program.
pub(super) fn rows(report: &mut Report, effort: Effort, cores: (usize, usize)) -> Result<(), Error> {
    let (client, server) = cores;
    let folders = [folder()?, folder()?];
    let start = |way, folder: &Path| run_on(server, || start(way, folder));
    let kernel = start(Way::Kernel, folders[0].path())?;
    let taken = start(Way::Taken, folders[1].path())?;
    let paired = in_turn(effort, |way| {
        let port = if way == Way::Kernel { kernel.port } else { taken.port };
        run_on(client, || load(way, port, effort))
    })?;
    compare(report, "nginx and wrk, 4 KiB", &paired, "requests/s", |it| *it, REQUESTS);
    Ok(())
}

fn folder() -> Result<tempfile::TempDir, Error> {
    let made = tempfile::tempdir().and_then(|folder| {
        std::fs::write(folder.path().join("file"), [b'x'; 4096])?;
        Ok(folder)
    });
    made.map_err(Error::while_doing(ErrorKind::Core, "making a folder for nginx"))
}

/// Starts a server of one process on the calling thread's core.
fn start(way: Way, folder: &Path) -> Result<Server, Error> {
    Server::start("nginx", |port| {
        let path = folder.display();
        // A server that root starts would read the folder as another user.
        let settings = format!(
            "daemon off; master_process off; user root; pid {path}/pid; error_log {path}/errors; events {{ worker_connections 1000; }}
             http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; client_body_temp_path {path}/body;
             proxy_temp_path {path}/proxy; fastcgi_temp_path {path}/fastcgi; uwsgi_temp_path {path}/uwsgi; scgi_temp_path {path}/scgi;
             server {{ listen 127.0.0.1:{port}; root {path}; }} }}"
        );
        let file = folder.join("settings");
        std::fs::write(&file, settings)
            .map_err(Error::while_doing(ErrorKind::Core, "writing the settings of nginx"))?;
        let mut command = way.command("nginx")?;
        command.arg("-p").arg(folder).arg("-c").arg(file);
        Ok(command)
    })
}

fn load(way: Way, port: u16, effort: Effort) -> Result<f64, Error> {
    let mut command = way.command("wrk")?;
    command.args([
        "-t",
        "1",
        "-c",
        "50",
        "-d",
        effort.pick("3", "1"),
        &format!("http://127.0.0.1:{port}/file"),
    ]);
    let output = command.output().map_err(Error::while_doing(ErrorKind::Core, "starting wrk"))?;
    rate(&output).ok_or_else(|| failed("wrk", &output))
}

/// Returns the requests per second, if all were answered rightly.
fn rate(output: &Output) -> Option<f64> {
    let said = String::from_utf8_lossy(&output.stdout);
    if said.contains("Non-2xx") || said.contains("Socket errors") {
        return None;
    }
    said.lines().find_map(|line| line.strip_prefix("Requests/sec:"))?.trim().parse().ok()
}

//! The figure of a run: the congestion window of each connection over time, its throughput and its round-trip time.

use crate::probe::Transferred;
use bertha::core::statistics::{Statistics, Value};
use bertha::{Error, ErrorKind};
use bertha_plot::{Panel, Series, over_time};
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tempfile::NamedTempFile;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// Number of samples in a run, at equal distances.
const SAMPLES: u32 = 1_000;

/// Shortest time between two samples, which is the resolution of tokio's timers.
const SHORTEST: Duration = Duration::from_millis(1);

/// Number of samples between two points of throughput, since a sender sends in bursts.
const PER_RATE: usize = 20;

/// The state of a connection at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sample {
    /// Seconds since the run began.
    at: f64,
    /// The congestion window, in bytes.
    window: u64,
    /// The smoothed round-trip time; `None` before the first measurement.
    rtt: Option<Duration>,
    /// Bytes of all messages that were sent so far.
    sent: u64,
}

/// The samples of a connection.
#[derive(Debug, Default)]
pub(super) struct History(Vec<Sample>);

/// The file of a figure. It takes its name once the figure is drawn; a run that fails leaves what was there.
#[derive(Debug)]
pub(super) struct Figure {
    path: PathBuf,
    /// A file in the same folder, which is removed unless it takes the name.
    file: NamedTempFile,
}

/// Parses the path of a figure.
pub(super) fn path(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension() {
        Some(extension) if extension.eq_ignore_ascii_case("svg") => Ok(path),
        _ => Err("the figure is SVG, and the name of its file ends in .svg".to_owned()),
    }
}

/// Checks that a layer of the connection tells a congestion window.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) if no layer does.
pub(super) fn check(statistics: &Statistics) -> Result<(), Error> {
    let what = "--plot draws a congestion window, and no Chunnel of the agreed stack has one; `reliable` in \
                --stack has one, as in `--udp --stack ordered,fragment,reliable`";
    measured(statistics).map(drop).ok_or_else(|| Error::new(ErrorKind::Invalid, what))
}

/// Runs a transfer, and takes samples of its connection for `time`.
///
/// The call is as safe to cancel as the transfer.
pub(super) async fn followed<T>(
    transfer: impl Future<Output = T>,
    time: Duration,
    sent: &Transferred,
    statistics: impl Fn() -> Statistics,
) -> (T, History) {
    let start = Instant::now();
    let mut samples = Vec::with_capacity(SAMPLES as usize + 1);
    let mut ticks = interval((time / SAMPLES).max(SHORTEST));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut transfer = pin!(transfer);
    loop {
        tokio::select! {
            done = &mut transfer => return (done, History(samples)),
            _ = ticks.tick(), if start.elapsed() <= time => {
                let at = start.elapsed();
                let measured = measured(&statistics()).filter(|_| at <= time);
                samples.extend(measured.map(|(window, rtt)| Sample {
                    at: at.as_secs_f64(),
                    window,
                    rtt,
                    sent: sent.bytes.load(Relaxed),
                }));
            }
        }
    }
}

/// Returns the window in bytes and the round-trip time of the topmost layer that has a window.
fn measured(statistics: &Statistics) -> Option<(u64, Option<Duration>)> {
    statistics.layers().find_map(|layer| {
        let values = layer.values();
        let value = |name| values.iter().find(|value| value.0 == name).map(|(_, value)| value);
        let time = |name| match value(name) {
            Some(Value::Time(time)) => Some(*time),
            _ => None,
        };
        let Some(Value::Bytes(window)) = value("window") else { return None };
        // Before the first measurement the shortest time is zero, and the smoothed time a guess.
        let is_measured = time("min_rtt").is_some_and(|shortest| !shortest.is_zero());
        Some((*window, time("rtt").filter(|_| is_measured)))
    })
}

impl History {
    fn windows(&self) -> Vec<(f64, f64)> {
        self.0.iter().map(|sample| (sample.at, sample.window as f64 / 1e3)).collect()
    }

    fn round_trips(&self) -> Vec<(f64, f64)> {
        let measured = self.0.iter().filter_map(|sample| Some((sample.at, sample.rtt?)));
        measured.map(|(at, rtt)| (at, rtt.as_secs_f64() * 1e3)).collect()
    }

    fn throughput(&self) -> Vec<(f64, f64)> {
        let ends: Vec<&Sample> = self.0.iter().step_by(PER_RATE).collect();
        let spans = ends.windows(2).filter_map(|ends| <&[_; 2]>::try_from(ends).ok());
        let rates = spans.map(|[from, to]| {
            (to.at, to.sent.saturating_sub(from.sent) as f64 * 8.0 / 1e6 / (to.at - from.at))
        });
        rates.filter(|(_, rate)| rate.is_finite()).collect()
    }
}

impl Figure {
    /// Makes sure that the figure can be written.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid), with the path and the reason.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        // The file behind a link is replaced, and not the link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if path.exists() && !path.is_file() {
            return Err(Error::new(ErrorKind::Invalid, format!("--plot {}: it is no file", path.display())));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = tempfile::Builder::new()
            .prefix(".plot")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .map_err(|error| unwritable(&path, error))?;
        Ok(Self { path, file })
    }

    /// Draws the histories of connections.
    ///
    /// # Errors
    /// Errors of the system, with the path.
    pub(super) fn draw(mut self, title: &str, histories: &[History]) -> Result<(), Error> {
        let series = |points: fn(&History) -> Vec<(f64, f64)>| {
            let all = histories.iter().enumerate();
            all.map(|(number, history)| Series {
                label: format!("connection {}", number + 1),
                points: points(history),
            })
            .collect()
        };
        let panel = |name, points| Panel { name, series: series(points), mark: None };
        let panels = [
            panel("Window (kB)", History::windows as fn(&_) -> _),
            panel("Throughput (Mbit/s)", History::throughput),
            panel("Round-trip time (ms)", History::round_trips),
        ];
        let drawn = over_time(title, &panels)
            .map_err(|error| Error::new(ErrorKind::Invalid, format!("the figure can't be drawn: {error}")))?;
        self.file.write_all(drawn.as_bytes()).map_err(|error| unwritable(&self.path, error))?;
        self.file.persist(&self.path).map_err(|error| unwritable(&self.path, error.error))?;
        Ok(())
    }
}

fn unwritable(path: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::Invalid, format!("--plot {}: {error}", path.display())).because(error)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use bertha::core::statistics::LayerStatistics;
    use std::future::pending;

    #[derive(Debug)]
    struct Told(Vec<(&'static str, Value)>);

    impl LayerStatistics for Told {
        fn values(&self) -> Vec<(&'static str, Value)> {
            self.0.clone()
        }
    }

    fn statistics(min_rtt: u64) -> Statistics {
        let mut statistics = Statistics::default();
        let window = ("window", Value::Bytes(12_000));
        let ms = |ms| Value::Time(Duration::from_millis(ms));
        statistics.add("Below", Told(vec![window, ("rtt", ms(30)), ("min_rtt", ms(min_rtt))]));
        // A number of calls is no window of bytes.
        statistics.add("Above", Told(vec![("window", Value::Number(4))]));
        statistics
    }

    #[test]
    fn a_round_trip_time_is_known_from_the_first_measurement_on() {
        assert_eq!(measured(&statistics(0)), Some((12_000, None)));
        assert_eq!(measured(&statistics(20)), Some((12_000, Some(Duration::from_millis(30)))));
        assert!(check(&statistics(0)).is_ok());
        let error = check(&Statistics::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }

    #[test]
    fn throughput_is_that_of_spans_of_samples() {
        let sample = |number: usize| Sample {
            at: number as f64 * 0.01,
            window: 1_000,
            rtt: None,
            sent: 1_000_000 * number.min(20) as u64,
        };
        let history = History((0..=40).map(sample).collect());
        let rates: Vec<f64> = history.throughput().iter().map(|(_, rate)| rate.round()).collect();
        assert_eq!(rates, [800.0, 0.0]);
        assert_eq!((history.windows()[7], history.round_trips().len()), ((0.07, 1.0), 0));
        assert!(History::default().throughput().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn samples_end_with_the_time_of_the_run() {
        let transfer = tokio::time::timeout(Duration::from_secs(15), pending::<()>());
        let time = Duration::from_secs(10);
        let (ended, History(samples)) =
            followed(transfer, time, &Transferred::default(), || statistics(1)).await;
        assert!(ended.is_err());
        let last = samples.last().unwrap();
        assert!((990..=1_001).contains(&samples.len()), "{} samples", samples.len());
        assert!((9.9..=10.0).contains(&last.at), "{last:?}");
    }

    #[test]
    fn a_file_is_replaced_by_a_whole_figure_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("flow.svg");
        let names = || std::fs::read_dir(folder.path()).unwrap().count();
        drop(Figure::open(&file).unwrap());
        assert_eq!(names(), 0, "a run that fails leaves nothing");
        std::fs::write(&file, "earlier").unwrap();
        let link = folder.path().join("link.svg");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let figure = Figure::open(&link).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "earlier");
        figure.draw("t", &[]).unwrap();
        assert!(std::fs::read_to_string(&file).unwrap().starts_with("<svg") && link.is_symlink());
        assert_eq!(names(), 2);
        let figure = Figure::open(&file).unwrap();
        std::fs::remove_dir_all(folder.path()).unwrap();
        let error = figure.draw("t", &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        for special in ["/dev/null", "/proc"] {
            assert!(Figure::open(Path::new(special)).unwrap_err().to_string().contains("no file"));
        }
    }

    #[test]
    fn only_svg_is_drawn() {
        assert_eq!(path("a/flow.SVG").unwrap(), PathBuf::from("a/flow.SVG"));
        for text in ["flow.png", "flow", "svg", ".svg", ""] {
            assert!(path(text).unwrap_err().contains(".svg"), "{text}");
        }
    }
}

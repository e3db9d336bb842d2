//! The state of the screen: which connections are shown, in which order, and which of them is chosen.

use super::rates::Rates;
use super::row::{Key, Row};
use super::sorting::Sorting;
use bertha_observe::{Answer, ConnectionState, ListenerState, ProcessState};
use bertha_program::escaped;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::{Duration, Instant};

/// Longest text of a filter.
const MOST_FILTER: usize = 100;

/// The number of rows that a page has.
const PAGE: usize = 10;

/// The state of the screen.
#[derive(Debug)]
pub(super) struct View {
    pub(super) sorting: Sorting,
    pub(super) is_reversed: bool,
    pub(super) filter: String,
    pub(super) mode: Mode,
    pub(super) is_stopped: bool,
    pub(super) processes: Vec<ProcessState>,
    /// The processes that did not tell their state, and why.
    pub(super) unknown: Vec<String>,
    /// The rows that the filter lets through, in order.
    pub(super) rows: Vec<Row>,
    /// The rows of all connections.
    all: Vec<Row>,
    chosen: Option<Key>,
    rates: Rates,
    /// The time of the last look.
    looked: Option<Instant>,
}

/// The part of the program that has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// The list.
    List,
    /// The text of the filter, below the list.
    Filter,
    /// A connection in detail, from this line on.
    Detail { from: u16 },
}

impl View {
    pub(super) fn new(sorting: Sorting, filter: String) -> Self {
        Self {
            sorting,
            is_reversed: false,
            filter,
            mode: Mode::List,
            is_stopped: false,
            processes: Vec::new(),
            unknown: Vec::new(),
            rows: Vec::new(),
            all: Vec::new(),
            chosen: None,
            rates: Rates::default(),
            looked: None,
        }
    }

    /// Takes the answers of a look at `now`.
    pub(super) fn look(&mut self, answers: Vec<Answer>, now: Instant) {
        let elapsed =
            self.looked.replace(now).map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        self.processes.clear();
        self.unknown.clear();
        for answer in answers {
            match answer.state {
                Ok(state) => self.processes.push(state),
                Err(error) => self.unknown.push(escaped(&error.to_string())),
            }
        }
        self.all = self.processes.iter().flat_map(Row::all).collect();
        self.rates.set(&mut self.all, elapsed);
        self.arrange();
    }

    /// Filters and sorts the rows.
    fn arrange(&mut self) {
        let wanted = self.filter.to_lowercase();
        let holds = |text: &str| text.to_lowercase().contains(&wanted);
        let is_shown = |row: &&Row| {
            let texts = [&row.program, &row.local, &row.peer, &row.stack, &row.condition];
            texts.into_iter().any(|text| holds(text))
        };
        self.rows = self.all.iter().filter(is_shown).cloned().collect();
        self.sorting.sort(&mut self.rows, self.is_reversed);
    }

    /// Returns the place of the chosen row.
    pub(super) fn chosen(&self) -> Option<usize> {
        let place = self.chosen.and_then(|key| self.rows.iter().position(|row| row.key == key));
        place.or((!self.rows.is_empty()).then_some(0))
    }

    /// Returns the connection in detail, with its process, unless it has ended.
    pub(super) fn detail(&self) -> Option<(&ProcessState, &ConnectionState)> {
        let (pid, number) = self.chosen?;
        let process = self.processes.iter().find(|process| process.pid == pid)?;
        Some((process, process.connections.iter().find(|connection| connection.number == number)?))
    }

    /// Iterates over the listeners of all processes.
    pub(super) fn listeners(&self) -> impl Iterator<Item = (&ProcessState, &ListenerState)> {
        self.processes
            .iter()
            .flat_map(|process| process.listeners.iter().map(move |listener| (process, listener)))
    }

    /// Takes a key. Returns true if the program has to end.
    pub(super) fn take(&mut self, key: KeyEvent) -> bool {
        // In a terminal without line editing, no signal comes of it.
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return true;
        }
        match self.mode {
            Mode::List => return self.take_in_list(key.code),
            Mode::Filter => self.take_in_filter(key.code),
            Mode::Detail { from } => return self.take_in_detail(key.code, from),
        }
        false
    }

    fn take_in_list(&mut self, key: KeyCode) -> bool {
        match key {
            KeyCode::Char('q') | KeyCode::Esc => return true,
            KeyCode::Up | KeyCode::Char('k') => self.choose(|place| place.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.choose(|place| place + 1),
            KeyCode::PageUp => self.choose(|place| place.saturating_sub(PAGE)),
            KeyCode::PageDown => self.choose(|place| place + PAGE),
            KeyCode::Home => self.choose(|_| 0),
            KeyCode::End => self.choose(|_| usize::MAX),
            KeyCode::Char('s') => {
                self.sorting = self.sorting.next();
                self.arrange();
            }
            KeyCode::Char('r') => {
                self.is_reversed = !self.is_reversed;
                self.arrange();
            }
            KeyCode::Char('p') => self.is_stopped = !self.is_stopped,
            KeyCode::Char('/') => self.mode = Mode::Filter,
            KeyCode::Enter if !self.rows.is_empty() => {
                self.choose(|place| place);
                self.mode = Mode::Detail { from: 0 };
            }
            _ => {}
        }
        false
    }

    fn take_in_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter | KeyCode::Esc => self.mode = Mode::List,
            KeyCode::Backspace => _ = self.filter.pop(),
            KeyCode::Char(c) if self.filter.len() < MOST_FILTER => self.filter.push(c),
            _ => return,
        }
        self.arrange();
    }

    fn take_in_detail(&mut self, key: KeyCode, from: u16) -> bool {
        self.mode = match key {
            KeyCode::Char('q') => return true,
            KeyCode::Esc | KeyCode::Enter | KeyCode::Backspace => Mode::List,
            KeyCode::Up | KeyCode::Char('k') => Mode::Detail { from: from.saturating_sub(1) },
            KeyCode::Down | KeyCode::Char('j') => Mode::Detail { from: from.saturating_add(1) },
            KeyCode::Char('p') => {
                self.is_stopped = !self.is_stopped;
                Mode::Detail { from }
            }
            _ => Mode::Detail { from },
        };
        false
    }

    /// Chooses another row by its place.
    fn choose(&mut self, place: impl Fn(usize) -> usize) {
        let Some(chosen) = self.chosen() else { return };
        let last = self.rows.len() - 1;
        self.chosen = Some(self.rows[place(chosen).min(last)].key);
    }
}

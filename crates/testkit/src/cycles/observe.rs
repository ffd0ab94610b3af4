//! What did the transactions see of each other?
//!
//! First by each alone: own changes are taken out of what it read, and must be there. Then by key: the
//! order of versions, from which the edges follow. A hypothetical transaction, which was refused but
//! is treated as committed, comes before whoever took its place.

mod slots;

use std::collections::{BTreeMap, HashMap};

use super::graph::{Edge, EdgeKind};
use super::{Anomaly, Element, Key, Kind, Noted, Op, Outcome, Version};

pub(super) struct Observed {
    pub anomalies: Vec<Anomaly>,
    /// From whom, and where to.
    pub edges: Vec<(usize, Edge)>,
}

/// What was read of others, by key: reader and value.
#[derive(Default)]
struct Reads {
    registers: BTreeMap<Key, Vec<(usize, Version)>>,
    lists: BTreeMap<Key, Vec<(usize, Vec<Element>)>>,
    sets: BTreeMap<Key, Vec<(usize, Vec<Element>)>>,
    slots: BTreeMap<Key, Vec<(usize, Element)>>,
}

/// Who wrote a version or element, and whether it replaced it itself.
#[derive(Clone, Copy)]
struct Write {
    by: usize,
    last: bool,
}

struct Observer<'a> {
    history: &'a [Noted],
    what_if: Option<usize>,
    /// By tag or element.
    writes: HashMap<u64, Write>,
    out: Observed,
}

pub(super) fn observe(history: &[Noted], what_if: Option<usize>) -> Observed {
    let out = Observed { anomalies: Vec::new(), edges: Vec::new() };
    let mut observer = Observer { history, what_if, writes: HashMap::new(), out };
    observer.collect_writes();
    let mut reads = Reads::default();
    for (tx, noted) in history.iter().enumerate() {
        if observer.counts(tx) {
            observer.read_of_others(tx, noted, &mut reads);
        }
    }
    observer.registers(&reads.registers);
    observer.lists(&reads.lists);
    observer.sets(&reads.sets);
    observer.slots(&reads.slots);
    observer.out
}

impl Observer<'_> {
    fn counts(&self, tx: usize) -> bool {
        self.history[tx].is_committed() || self.what_if == Some(tx)
    }

    fn found(&mut self, kind: Kind, text: String) {
        if !self.out.anomalies.iter().any(|a| a.kind == kind) {
            self.out.anomalies.push(Anomaly { kind, text });
        }
    }

    fn edge(&mut self, from: usize, to: usize, kind: EdgeKind, key: Key, of_set: bool) {
        if from != to {
            if kind == EdgeKind::Rw && self.history[to].time.1 < self.history[from].time.0 {
                let text = format!("T{from} misses what T{to} did to key {key} before it began");
                self.found(Kind::Stale, text);
            }
            self.out.edges.push((from, Edge { to, kind, key, of_set }));
        }
    }

    fn collect_writes(&mut self) {
        for (by, noted) in self.history.iter().enumerate() {
            let mut last = HashMap::new();
            for op in &noted.ops {
                let (unique, before) = match *op {
                    Op::Write(key, version) => {
                        (version.tag, last.insert((false, key), version.tag))
                    }
                    Op::Put(key, element, _) => (element, last.insert((true, key), element)),
                    Op::Append(_, element) | Op::Add(_, element) => (element, None),
                    _ => continue,
                };
                if let Some(write) = before.and_then(|tag| self.writes.get_mut(&tag)) {
                    write.last = false;
                }
                // That a slot was emptied has no value of its own.
                if unique == 0 {
                    continue;
                }
                if self.writes.insert(unique, Write { by, last: true }).is_some() {
                    self.found(Kind::Impossible, format!("{unique} was written twice"));
                }
            }
        }
    }

    /// Takes out of what a transaction read what it had done itself.
    fn read_of_others(&mut self, tx: usize, noted: &Noted, reads: &mut Reads) {
        let mut own_register: HashMap<Key, Version> = HashMap::new();
        let mut own_list: HashMap<Key, Vec<Element>> = HashMap::new();
        let mut own_set: HashMap<Key, Vec<Element>> = HashMap::new();
        let mut own_slot: HashMap<Key, Element> = HashMap::new();
        let mut removed: Vec<Element> = Vec::new();
        for op in &noted.ops {
            match op {
                Op::Write(key, version) => drop(own_register.insert(*key, *version)),
                Op::Put(key, element, _) => drop(own_slot.insert(*key, *element)),
                Op::ReadSlot(key, element) => match own_slot.get(key) {
                    Some(own) if own != element => {
                        let text = format!("T{tx} put {own} into key {key} and read {element}");
                        self.found(Kind::Internal, text);
                    }
                    Some(_) => {}
                    None => reads.slots.entry(*key).or_default().push((tx, *element)),
                },
                Op::Append(key, element) => own_list.entry(*key).or_default().push(*element),
                Op::Add(key, element) => own_set.entry(*key).or_default().push(*element),
                Op::Remove(key, element) => {
                    own_set.entry(*key).or_default().retain(|own| own != element);
                    removed.push(*element);
                }
                Op::Read(key, version) => match own_register.get(key) {
                    Some(own) if own != version => {
                        let text = format!("T{tx} wrote {own:?} of key {key} and read {version:?}");
                        self.found(Kind::Internal, text);
                    }
                    Some(_) => {}
                    None => reads.registers.entry(*key).or_default().push((tx, *version)),
                },
                Op::ReadList(key, elements) => {
                    let own = own_list.get(key).map_or(&[][..], |own| own);
                    match elements.strip_suffix(own) {
                        Some(others) => {
                            reads.lists.entry(*key).or_default().push((tx, others.to_vec()));
                        }
                        None => {
                            let text = format!(
                                "T{tx} appended {own:?} to key {key} and read {elements:?}"
                            );
                            self.found(Kind::Internal, text);
                        }
                    }
                }
                Op::ReadSet(key, elements) => {
                    let own = own_set.get(key).map_or(&[][..], |own| own);
                    if let Some(missing) = own.iter().find(|e| !elements.contains(e)) {
                        let text = format!("T{tx} added {missing} to key {key} and misses it");
                        self.found(Kind::Internal, text);
                    }
                    if let Some(again) = removed.iter().find(|e| elements.contains(e)) {
                        let text = format!("T{tx} removed {again} from key {key} and read it");
                        self.found(Kind::Internal, text);
                    }
                    let others = elements.iter().copied().filter(|e| !own.contains(e)).collect();
                    reads.sets.entry(*key).or_default().push((tx, others));
                }
            }
        }
    }

    /// The writer of something that was read; notes if it should not have been.
    fn writer(&mut self, unique: u64, reader: usize, key: Key) -> Option<usize> {
        let Some(&Write { by, last }) = self.writes.get(&unique) else {
            let text = format!("T{reader} read {unique} of key {key}, which nobody wrote or kept");
            self.found(Kind::Impossible, text);
            return None;
        };
        if !self.counts(by) {
            let text =
                format!("T{reader} read {unique} of key {key} by T{by}, which was rolled back");
            self.found(Kind::AbortedRead, text);
            return None;
        }
        if !last {
            let text =
                format!("T{reader} read {unique} of key {key}, which T{by} overwrote itself");
            self.found(Kind::IntermediateRead, text);
        }
        Some(by)
    }

    fn registers(&mut self, reads: &BTreeMap<Key, Vec<(usize, Version)>>) {
        // By number; a hypothetical one before whoever took its number.
        let mut versions: BTreeMap<Key, Vec<(u64, bool, usize)>> = BTreeMap::new();
        for (tx, noted) in self.history.iter().enumerate().filter(|(tx, _)| self.counts(*tx)) {
            for op in &noted.ops {
                if let Op::Write(key, version) = op {
                    let real = noted.is_committed();
                    versions.entry(*key).or_default().push((version.number, real, tx));
                }
            }
        }
        for (key, chain) in &mut versions {
            chain.sort_unstable();
            self.chain(*key, chain);
        }
        for (key, reads) in reads {
            let chain = versions.get(key).map_or(&[][..], |chain| chain);
            for &(reader, version) in reads {
                if version.tag != 0
                    && let Some(by) = self.writer(version.tag, reader, *key)
                {
                    self.edge(by, reader, EdgeKind::Wr, *key, false);
                }
                let next = chain.iter().filter(|v| v.0 > version.number);
                for &(_, real, by) in next {
                    if self.could_miss(reader, by) {
                        self.edge(reader, by, EdgeKind::Rw, *key, false);
                    }
                    if real {
                        break;
                    }
                }
            }
        }
    }

    /// The versions of a register in their order: each in the place of the one before.
    fn chain(&mut self, key: Key, chain: &[(u64, bool, usize)]) {
        let mut real = chain.iter().filter(|v| v.1).peekable();
        if let Some(first) = real.peek().filter(|first| first.0 != 1) {
            let text =
                format!("T{} wrote version {} of key {key}, the first one", first.2, first.0);
            self.found(Kind::AbortedRead, text);
        }
        while let (Some(a), Some(b)) = (real.next(), real.peek()) {
            let text =
                format!("T{} wrote version {} of key {key} and T{} version {}", a.2, a.0, b.2, b.0);
            if a.0 == b.0 && a.2 != b.2 {
                self.found(Kind::LostUpdate, format!("{text}, both in the place of the same one"));
            } else if a.0 + 1 < b.0 {
                self.found(Kind::AbortedRead, format!("{text}: what was between was rolled back"));
            }
        }
        for pair in chain.windows(2) {
            self.edge(pair[0].2, pair[1].2, EdgeKind::Ww, key, false);
        }
    }

    fn lists(&mut self, reads: &BTreeMap<Key, Vec<(usize, Vec<Element>)>>) {
        for (&key, reads) in reads {
            let (_, longest) = reads.iter().max_by_key(|(_, list)| list.len()).expect("a read");
            let mut writers = Vec::new();
            for (at, element) in longest.iter().enumerate() {
                let reader = reads.iter().find(|(_, list)| list.len() > at).expect("the longest").0;
                let by = self.writer(*element, reader, key);
                writers.extend(by);
            }
            for pair in writers.windows(2) {
                self.edge(pair[0], pair[1], EdgeKind::Ww, key, false);
            }
            for (reader, list) in reads {
                if !longest.starts_with(list) {
                    let text = format!(
                        "T{reader} read {list:?} of key {key}, which is no beginning of {longest:?}"
                    );
                    self.found(Kind::Impossible, text);
                    continue;
                }
                if let Some(&by) = list.last().and_then(|e| Some(&self.writes.get(e)?.by)) {
                    self.edge(by, *reader, EdgeKind::Wr, key, false);
                    self.not_in_between(*reader, by, list, key);
                }
                if let Some(next) = longest.get(list.len())
                    && let Some(Write { by, .. }) = self.writes.get(next).copied()
                {
                    self.edge(*reader, by, EdgeKind::Rw, key, false);
                }
            }
            self.nothing_lost(key, longest, reads);
        }
    }

    /// A list that ends within what one transaction appended is its private state.
    fn not_in_between(&mut self, reader: usize, by: usize, list: &[Element], key: Key) {
        let appended = self.history[by].ops.iter().filter_map(|op| match op {
            Op::Append(k, element) if *k == key => Some(*element),
            _ => None,
        });
        let missing: Vec<Element> = appended.filter(|e| !list.contains(e)).collect();
        if reader != by && !missing.is_empty() {
            let text =
                format!("T{reader} read {list:?} of key {key}, but T{by} appended {missing:?}");
            self.found(Kind::IntermediateRead, text);
        }
    }

    /// Whoever began after a commit finds what it appended.
    fn nothing_lost(&mut self, key: Key, longest: &[Element], reads: &[(usize, Vec<Element>)]) {
        let last = reads.iter().map(|(tx, _)| self.history[*tx].time.0).max().unwrap_or(0);
        for (tx, noted) in self.history.iter().enumerate() {
            if !noted.is_committed() || noted.time.1 > last {
                continue;
            }
            for op in &noted.ops {
                if let Op::Append(k, element) = op
                    && *k == key
                    && !longest.contains(element)
                {
                    let text = format!("T{tx} appended {element} to key {key}, which is lost");
                    self.found(Kind::LostUpdate, text);
                }
            }
        }
    }

    fn sets(&mut self, reads: &BTreeMap<Key, Vec<(usize, Vec<Element>)>>) {
        let mut added: BTreeMap<Key, Vec<(Element, usize)>> = BTreeMap::new();
        let mut removers: HashMap<Element, usize> = HashMap::new();
        let history = self.history;
        for (tx, noted) in history.iter().enumerate() {
            if !self.counts(tx) {
                continue;
            }
            for op in &noted.ops {
                match *op {
                    Op::Add(key, element) => added.entry(key).or_default().push((element, tx)),
                    Op::Remove(key, element) => {
                        let other = removers.insert(element, tx);
                        if let Some(other) = other.filter(|o| self.both_real(*o, tx)) {
                            let text = format!("T{other} and T{tx} removed {element} of key {key}");
                            self.found(Kind::LostUpdate, text);
                        }
                        if let Some(by) = self.writer(element, tx, key) {
                            self.edge(by, tx, EdgeKind::Ww, key, true);
                        }
                    }
                    _ => {}
                }
            }
        }
        for (key, reads) in reads {
            for (reader, elements) in reads {
                for element in elements {
                    if let Some(by) = self.writer(*element, *reader, *key) {
                        self.edge(by, *reader, EdgeKind::Wr, *key, true);
                    }
                    if let Some(&by) = removers.get(element)
                        && self.could_miss(*reader, by)
                    {
                        self.edge(*reader, by, EdgeKind::Rw, *key, true);
                    }
                }
                // One that was removed may be missed before it came or after it went.
                let missed = added.get(key).into_iter().flatten();
                let missed =
                    missed.filter(|(e, _)| !elements.contains(e) && !removers.contains_key(e));
                for (_, by) in missed {
                    if self.could_miss(*reader, *by) {
                        self.edge(*reader, *by, EdgeKind::Rw, *key, true);
                    }
                }
            }
        }
    }

    fn both_real(&self, a: usize, b: usize) -> bool {
        self.history[a].is_committed() && self.history[b].is_committed()
    }

    /// Had a hypothetical transaction committed, who began after its end would have seen it.
    fn could_miss(&self, reader: usize, by: usize) -> bool {
        let committed = matches!(self.history[by].outcome, Outcome::Committed(_));
        committed || self.history[reader].time.0 < self.history[by].time.1
    }
}

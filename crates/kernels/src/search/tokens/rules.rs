//! What does the automaton do in which state?
//!
//! Of a state's rules the first one counts whose test fits. Thread safety: plain data.

use super::Kind;

/// What is asked of the character that is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    Always,
    /// There is none.
    End,
    Is(u8),
    AsciiLetter,
    Letter,
    Digit,
    Hex,
    LetterOrDigit,
    /// It is of no word.
    Other,
    Space,
    OfUrl,
    /// It is in a script.
    Ignored,
    /// A host ends here, as one was asked for alone.
    StopsHost,
    /// A host begins here.
    Host,
    /// The path of an address begins here.
    UrlPath,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// Takes the character.
    Stay,
    /// Takes it and goes on in a state.
    Go(State),
    /// The same, where a tag may be that of a script.
    Tag(State),
    /// Takes it, likewise.
    TagStay,
    /// Goes on in a state with the same character.
    Again(State),
    /// The same, with the begin of the token.
    Anew(State),
    /// Notes this place, takes the character and goes on in a state.
    Try(State),
    /// Takes it and goes on in a state; it will not come back to where it was noted last.
    Forget(State),
    /// Back to where it was noted last, and on with the rule behind the one that noted it.
    Back,
    /// Takes the character, and goes on as where it was noted last.
    Join,
    /// A token ends before this character; the next begins in a state.
    Found(Kind, State),
    /// The same; it will not come back to where it was noted last.
    FoundForget(Kind, State),
    /// The same; it will come back nowhere.
    FoundAlone(Kind, State),
    /// The same, and what was found is looked at again.
    FoundBack(Kind, State),
}

/// A rule of a state.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) test: Test,
    pub(super) then: Then,
}

macro_rules! states {
    ($($(#[$doc:meta])* $state:ident { $($test:expr => $then:expr,)* })*) => {
        /// What was seen so far.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum State {
            $($(#[$doc])* $state,)*
        }

        /// The rules of a state.
        pub(super) fn rules(state: State) -> &'static [Rule] {
            use Kind::*;
            use State::*;
            use Then::*;
            use Test::{AsciiLetter, Digit, End, Hex, Ignored, Is, Letter, LetterOrDigit, OfUrl,
                Other, StopsHost};
            match state {
                $(State::$state => const { &[$(Rule { test: $test, then: $then },)*] },)*
            }
        }
    };
}

use Test::Always;

states! {
    /// Nothing of a token.
    Base {
        End => Stay,
        Is(b'<') => Try(TagFirst),
        Ignored => Go(Space),
        AsciiLetter => Go(InAsciiWord),
        Letter => Go(InWord),
        Digit => Go(InUnsigned),
        Is(b'-') => Try(SignedFirst),
        Is(b'+') => Try(SignedFirst),
        Is(b'&') => Try(EntityFirst),
        Is(b'~') => Try(FileTilde),
        Is(b'/') => Try(FileFirst),
        Is(b'.') => Try(PathFirst),
        Always => Go(Space),
    }
    /// What begins no token.
    Nothing {
        Always => Found(Blank, Base),
    }
    InNumWord {
        End => Found(NumWord, Base),
        LetterOrDigit => Stay,
        Is(b'@') => Try(AtHost),
        Is(b'/') => Try(FileFirst),
        Is(b'.') => Try(FileNext),
        Is(b'-') => Try(HyphenNumFirst),
        Always => Found(NumWord, Base),
    }
    InAsciiWord {
        End => Found(AsciiWord, Base),
        AsciiLetter => Stay,
        Is(b'.') => Try(DomainFirst),
        Is(b'.') => Try(FileNext),
        Is(b'-') => Try(HostFirst),
        Is(b'-') => Try(HyphenAsciiFirst),
        Is(b'_') => Try(HostFirst),
        Is(b'@') => Try(AtHost),
        Is(b':') => Try(ProtocolFirst),
        Is(b'/') => Try(FileFirst),
        Digit => Try(InHost),
        Digit => Go(InNumWord),
        Letter => Go(InWord),
        Always => Found(AsciiWord, Base),
    }
    InWord {
        End => Found(Word, Base),
        Letter => Stay,
        Digit => Go(InNumWord),
        Is(b'-') => Try(HyphenFirst),
        Always => Found(Word, Base),
    }
    InUnsigned {
        End => Found(Unsigned, Base),
        Digit => Stay,
        Is(b'.') => Try(DomainFirst),
        Is(b'.') => Try(UnsignedPoint),
        Is(b'e') => Try(ExponentFirst),
        Is(b'E') => Try(ExponentFirst),
        Is(b'-') => Try(HostFirst),
        Is(b'_') => Try(HostFirst),
        Is(b'@') => Try(AtHost),
        AsciiLetter => Try(InHost),
        Letter => Go(InNumWord),
        Is(b'/') => Try(FileFirst),
        Always => Found(Unsigned, Base),
    }
    SignedFirst {
        Digit => Forget(InSigned),
        Always => Back,
    }
    InSigned {
        End => Found(Signed, Base),
        Digit => Stay,
        Is(b'.') => Try(SignedPoint),
        Is(b'e') => Try(ExponentFirst),
        Is(b'E') => Try(ExponentFirst),
        Always => Found(Signed, Base),
    }
    Space {
        End => Found(Blank, Base),
        Is(b'<') => Found(Blank, Base),
        Ignored => Stay,
        Is(b'-') => Found(Blank, Base),
        Is(b'+') => Found(Blank, Base),
        Is(b'&') => Found(Blank, Base),
        Is(b'/') => Found(Blank, Base),
        Other => Stay,
        Always => Found(Blank, Base),
    }
    UnsignedPoint {
        Digit => Forget(InUnsignedDecimal),
        Always => Back,
    }
    InUnsignedDecimal {
        End => Found(Decimal, Base),
        Digit => Stay,
        Is(b'.') => Try(VersionFirst),
        Is(b'e') => Try(ExponentFirst),
        Is(b'E') => Try(ExponentFirst),
        Always => Found(Decimal, Base),
    }
    SignedPoint {
        Digit => Forget(InSignedDecimal),
        Always => Back,
    }
    InSignedDecimal {
        End => Found(Decimal, Base),
        Digit => Stay,
        Is(b'.') => Try(SignedVersion),
        Is(b'e') => Try(ExponentFirst),
        Is(b'E') => Try(ExponentFirst),
        Always => Found(Decimal, Base),
    }
    /// The sign before a version is none.
    SignedVersion {
        Digit => Anew(BeforeVersion),
        Always => Back,
    }
    BeforeVersion {
        End => Back,
        Digit => FoundAlone(Blank, InUnsigned),
        Always => Stay,
    }
    VersionFirst {
        Digit => Forget(InVersion),
        Always => Back,
    }
    InVersion {
        End => Found(Version, Base),
        Digit => Stay,
        Is(b'.') => Try(VersionFirst),
        Always => Found(Version, Base),
    }
    ExponentFirst {
        Digit => Forget(InExponent),
        Is(b'+') => Go(ExponentSign),
        Is(b'-') => Go(ExponentSign),
        Always => Back,
    }
    ExponentSign {
        Digit => Forget(InExponent),
        Always => Back,
    }
    InExponent {
        End => Found(Scientific, Base),
        Digit => Stay,
        Always => Found(Scientific, Base),
    }
    EntityFirst {
        Is(b'#') => Go(EntityNumberFirst),
        AsciiLetter => Go(InEntity),
        Is(b':') => Go(InEntity),
        Is(b'_') => Go(InEntity),
        Always => Back,
    }
    InEntity {
        LetterOrDigit => Stay,
        Is(b':') => Stay,
        Is(b'_') => Stay,
        Is(b'.') => Stay,
        Is(b'-') => Stay,
        Is(b';') => Go(EntityEnd),
        Always => Back,
    }
    EntityNumberFirst {
        Is(b'x') => Go(EntityHexFirst),
        Is(b'X') => Go(EntityHexFirst),
        Digit => Go(EntityNumber),
        Always => Back,
    }
    EntityHexFirst {
        Hex => Go(EntityHex),
        Always => Back,
    }
    EntityNumber {
        Digit => Stay,
        Is(b';') => Go(EntityEnd),
        Always => Back,
    }
    EntityHex {
        Hex => Stay,
        Is(b';') => Go(EntityEnd),
        Always => Back,
    }
    EntityEnd {
        Always => FoundForget(Entity, Base),
    }
    TagFirst {
        End => Back,
        Is(b'/') => Try(TagCloseFirst),
        Is(b'!') => Try(CommentFirst),
        Is(b'?') => Try(XmlFirst),
        AsciiLetter => Try(TagName),
        Is(b':') => Try(TagName),
        Is(b'_') => Try(TagName),
        Always => Back,
    }
    XmlFirst {
        Is(b'x') => Go(InTag),
        Always => Back,
    }
    TagCloseFirst {
        AsciiLetter => Go(TagName),
        Always => Back,
    }
    TagName {
        End => Back,
        Is(b'/') => Go(TagCloses),
        Is(b'>') => Then::Tag(TagEnd),
        Test::Space => Then::Tag(InTag),
        LetterOrDigit => Stay,
        Is(b':') => Stay,
        Is(b'_') => Stay,
        Is(b'.') => Stay,
        Is(b'-') => Stay,
        Always => Back,
    }
    TagCloses {
        Is(b'>') => Go(TagEnd),
        Always => Back,
    }
    InTag {
        End => Back,
        Is(b'>') => Then::Tag(TagEnd),
        Is(b'\'') => Go(TagQuote),
        Is(b'"') => Go(TagDoubleQuote),
        AsciiLetter => Stay,
        Digit => Stay,
        Is(b'=') => Stay,
        Is(b'-') => Stay,
        Is(b'_') => Stay,
        Is(b'#') => Stay,
        Is(b'/') => Stay,
        Is(b':') => Stay,
        Is(b'.') => Stay,
        Is(b'&') => Stay,
        Is(b'?') => Stay,
        Is(b'%') => Stay,
        Is(b'~') => Stay,
        Test::Space => TagStay,
        Always => Back,
    }
    TagQuote {
        End => Back,
        Is(b'\\') => Try(TagBackslash),
        Is(b'\'') => Go(InTag),
        Always => Stay,
    }
    TagDoubleQuote {
        End => Back,
        Is(b'\\') => Try(TagBackslash),
        Is(b'"') => Go(InTag),
        Always => Stay,
    }
    TagBackslash {
        End => Back,
        Always => Join,
    }
    TagEnd {
        Always => FoundAlone(Kind::Tag, Base),
    }
    CommentFirst {
        Is(b'-') => Go(CommentSecond),
        Is(b'D') => Go(InTag),
        Is(b'd') => Go(InTag),
        Always => Back,
    }
    CommentSecond {
        Is(b'-') => Go(InComment),
        Always => Back,
    }
    InComment {
        End => Back,
        Is(b'-') => Go(CommentDash),
        Always => Stay,
    }
    CommentDash {
        End => Back,
        Is(b'-') => Go(CommentDashes),
        Always => Go(InComment),
    }
    CommentDashes {
        End => Back,
        Is(b'-') => Stay,
        Is(b'>') => Go(TagEnd),
        Always => Go(InComment),
    }
    DomainFirst {
        AsciiLetter => Go(DomainSecond),
        Digit => Go(InHost),
        Always => Back,
    }
    DomainSecond {
        End => Back,
        AsciiLetter => Go(InDomain),
        Digit => Try(InHost),
        Is(b'-') => Try(HostFirst),
        Is(b'_') => Try(HostFirst),
        Is(b'.') => Try(DomainFirst),
        Is(b'@') => Try(AtHost),
        Always => Back,
    }
    InDomain {
        End => FoundAlone(Host, Base),
        AsciiLetter => Stay,
        Digit => Try(InHost),
        Is(b':') => Try(PortFirst),
        Is(b'-') => Try(HostFirst),
        Is(b'_') => Try(HostFirst),
        Is(b'.') => Try(DomainFirst),
        Is(b'@') => Try(AtHost),
        Digit => Back,
        StopsHost => FoundAlone(Host, UrlPathStart),
        Is(b'/') => Try(AtPath),
        Always => FoundAlone(Host, Base),
    }
    PortFirst {
        Digit => Go(InPort),
        Always => Back,
    }
    InPort {
        End => FoundAlone(Host, Base),
        Digit => Stay,
        StopsHost => FoundAlone(Host, UrlPathStart),
        Is(b'/') => Try(AtPath),
        Always => FoundAlone(Host, Base),
    }
    HostFirst {
        Digit => Go(InHost),
        AsciiLetter => Go(InHost),
        Always => Back,
    }
    InHost {
        End => Back,
        Digit => Stay,
        AsciiLetter => Stay,
        Is(b'@') => Try(AtHost),
        Is(b'.') => Try(DomainFirst),
        Is(b'-') => Try(HostFirst),
        Is(b'_') => Try(HostFirst),
        Always => Back,
    }
    AtHost {
        StopsHost => Back,
        Test::Host => FoundAlone(Email, Base),
        Always => Back,
    }
    FileFirst {
        End => Back,
        AsciiLetter => Go(InFile),
        Digit => Go(InFile),
        Is(b'.') => Go(PathPoint),
        Is(b'_') => Go(InFile),
        Is(b'~') => Try(FileTilde),
        Always => Back,
    }
    FileTilde {
        AsciiLetter => Go(InFile),
        Digit => Go(InFile),
        Is(b'_') => Go(InFile),
        Is(b'/') => Go(FileFirst),
        Always => Back,
    }
    PathPoint {
        AsciiLetter => Go(InFile),
        Digit => Go(InFile),
        Is(b'_') => Go(InFile),
        Is(b'.') => Go(PathPoints),
        Is(b'/') => Go(FileFirst),
        Always => Back,
    }
    PathFirst {
        Is(b'.') => Go(PathPoints),
        Is(b'/') => Go(FileFirst),
        Always => Back,
    }
    PathPoints {
        End => FoundForget(File, Base),
        Is(b'/') => Try(FileFirst),
        Is(b'/') => FoundForget(File, Base),
        Test::Space => FoundForget(File, Base),
        Always => Back,
    }
    InFile {
        End => Found(File, Base),
        AsciiLetter => Stay,
        Digit => Stay,
        Is(b'.') => Try(FileNext),
        Is(b'_') => Stay,
        Is(b'-') => Stay,
        Is(b'/') => Try(FileFirst),
        Always => Found(File, Base),
    }
    FileNext {
        AsciiLetter => Forget(InFile),
        Digit => Forget(InFile),
        Is(b'_') => Forget(InFile),
        Always => Back,
    }
    UrlPathFirst {
        End => Back,
        OfUrl => Go(InUrlPath),
        Always => Back,
    }
    UrlPathStart {
        Always => Go(InUrlPath),
    }
    InUrlPath {
        End => Found(UrlPath, Base),
        OfUrl => Stay,
        Always => Found(UrlPath, Base),
    }
    AtPath {
        End => Back,
        Test::UrlPath => FoundBack(Url, Base),
        Always => Back,
    }
    ProtocolFirst {
        Is(b'/') => Go(ProtocolSecond),
        Always => Back,
    }
    ProtocolSecond {
        Is(b'/') => Go(ProtocolEnd),
        Always => Back,
    }
    ProtocolEnd {
        Always => FoundAlone(Protocol, Base),
    }
    HyphenAsciiFirst {
        AsciiLetter => Go(InHyphenAscii),
        Letter => Go(InHyphen),
        Digit => Go(HyphenDigits),
        Always => Back,
    }
    InHyphenAscii {
        End => FoundBack(AsciiHyphenated, Parts),
        AsciiLetter => Stay,
        Letter => Go(InHyphen),
        Digit => Go(InHyphenNum),
        Is(b'-') => Try(HyphenAsciiFirst),
        Always => FoundBack(AsciiHyphenated, Parts),
    }
    HyphenFirst {
        Letter => Go(InHyphen),
        Digit => Go(HyphenDigits),
        Always => Back,
    }
    InHyphen {
        End => FoundBack(Hyphenated, Parts),
        Letter => Stay,
        Digit => Go(InHyphenNum),
        Is(b'-') => Try(HyphenFirst),
        Always => FoundBack(Hyphenated, Parts),
    }
    HyphenNumFirst {
        Letter => Go(InHyphenNum),
        Digit => Go(HyphenDigits),
        Always => Back,
    }
    InHyphenNum {
        End => FoundBack(NumHyphenated, Parts),
        LetterOrDigit => Stay,
        Is(b'-') => Try(HyphenNumFirst),
        Always => FoundBack(NumHyphenated, Parts),
    }
    HyphenDigits {
        End => Back,
        Digit => Stay,
        Letter => Go(InHyphenNum),
        Always => Back,
    }
    /// The parts of a word with dashes.
    Parts {
        End => Again(Base),
        AsciiLetter => Go(InAsciiPart),
        Letter => Go(InPart),
        Digit => Try(PartDigits),
        Is(b'-') => Try(PartDash),
        Always => Again(Base),
    }
    PartDash {
        End => Back,
        LetterOrDigit => FoundForget(Blank, Parts),
        Always => Back,
    }
    InPart {
        End => Found(Part, Base),
        Letter => Stay,
        Digit => Go(InNumPart),
        Always => Found(Part, Parts),
    }
    InAsciiPart {
        End => Found(AsciiPart, Base),
        AsciiLetter => Stay,
        Letter => Go(InPart),
        Digit => Go(InNumPart),
        Always => Found(AsciiPart, Parts),
    }
    InNumPart {
        End => Found(NumPart, Base),
        LetterOrDigit => Stay,
        Always => Found(NumPart, Parts),
    }
    PartDigits {
        End => Back,
        Digit => Stay,
        Letter => Forget(InNumPart),
        Always => Back,
    }
}

// How long a source may be believed to lead after its last write that a replica has acknowledged. Two sources of a
// triple never acknowledge at the same time, whatever the clocks do; but a source that was replaced behind its back (cut
// off from checkers and replicas, not from clients) goes on showing what it had. What it lacks may exist, so it must not
// say "there is none". The agents' beat is a write four times a second: a source whose newest beat is younger than
// `LEADS_WITHIN_MS` has not been replaced yet: a controller records another one only once the old one is closed, dead, or
// has been heard by no acker for that long. docs/adr/0017 has the reasoning.

/** Age of the newest acknowledged beat up to which a source is taken to lead, ms. */
export const LEADS_WITHIN_MS = 1_200;
/** A receiver without progress for so long counts as not receiving, ms. No source is replaced while a replica receives. */
export const RECEIVING_WITHIN_MS = 1_500;
/** A beat that has waited so long hangs, ms. */
export const BEAT_HANGS_AFTER_MS = 1_500;

/** A long piece of work as its caller sees it. */
export interface Work {
  /** Says what is being done, one line a step, for people. */
  readonly tell: (text: string) => void;
  /** Aborted when nobody wants the result any more. */
  readonly signal: AbortSignal;
}

/** For callers that neither listen nor stop it. */
export const quietWork: Work = { tell: () => {}, signal: new AbortController().signal };

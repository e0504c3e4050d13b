/** Where a long piece of work says what it is doing; one line a step, for people. */
export type Progress = (text: string) => void;

/** For callers that want none. */
export const silent: Progress = () => {};

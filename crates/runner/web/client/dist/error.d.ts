/** An error that the runner reports. */
export declare class RunnerError extends Error {
    readonly status: number;
    /** A stable code in capitals, such as `SESSION_NOT_FOUND`; empty if the response has none. */
    readonly code: string;
    /** What to do next, as text; empty if the response does not say it. */
    readonly next: string;
    /** The members of the problem document. */
    readonly problem: Readonly<Record<string, unknown>>;
    constructor(status: number, problem: Record<string, unknown>);
    /** Whether a repeated request may succeed: the runner is busy, or is being restarted. */
    get isTemporary(): boolean;
    /** Reads the error from a response. */
    static of(response: Response): Promise<RunnerError>;
}

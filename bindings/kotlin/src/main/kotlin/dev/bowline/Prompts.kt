package dev.bowline

/** Sends a text as a prompt. */
public suspend fun DialogueSession.say(text: String, uuid: String? = null): Receipt =
    send(Prompt(listOf(PromptPart.Text(text)), uuid))

/** Waits until nothing more will come of the prompt. */
public suspend fun Receipt.settled(): ReceiptState = reached(ReceiptState.ANSWERED)

/** The tool may run, with the model's own arguments or with [input], a JSON object. */
public suspend fun DialogueSession.allow(requestId: String, input: String? = null): Unit =
    respond(requestId, PermissionAnswer.Allow(input, null))

/** The tool may not run; the model is told why. */
public suspend fun DialogueSession.deny(requestId: String, reason: String, interrupt: Boolean = false): Unit =
    respond(requestId, PermissionAnswer.Deny(reason, interrupt))

/** What went wrong, for people: a fragment that reads after "failed to" and says what to do next. */
public val BowlineException.reason: String
    get() = when (this) {
        is BowlineException.Start -> reason
        is BowlineException.Configuration -> reason
        is BowlineException.Ended -> reason
        is BowlineException.NotFound -> reason
        is BowlineException.Refused -> reason
        is BowlineException.NoAnswer -> reason
        is BowlineException.TooLate -> reason
        is BowlineException.Invalid -> reason
        is BowlineException.Busy -> reason
        is BowlineException.Resume -> reason
        is BowlineException.Io -> reason
        is BowlineException.Cancelled -> reason
        is BowlineException.Host -> reason
        is BowlineException.Internal -> reason
    }

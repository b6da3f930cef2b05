package dev.bowline.example

import dev.bowline.AttentionReason
import dev.bowline.Bowline
import dev.bowline.DialogueConfiguration
import dev.bowline.Engine
import dev.bowline.EntryKind
import dev.bowline.InboxEvent
import dev.bowline.PermissionAnswer
import dev.bowline.Phase
import dev.bowline.inbox
import dev.bowline.send
import dev.bowline.transcripts
import dev.bowline.waitUntilSettled
import kotlin.system.exitProcess
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

/** A host in a terminal: sends a prompt, allows all permission requests and prints the answer. */
fun main(arguments: Array<String>): Unit = runBlocking {
    val prompt = arguments.firstOrNull() ?: run {
        System.err.println("usage: Host PROMPT [PROGRAM [ARGUMENT…]]")
        exitProcess(2)
    }
    val engine = Bowline.engine(program = arguments.getOrNull(1))
    engine.start(DialogueConfiguration(args = arguments.drop(2))).use { session ->
        val answers = launch { answerRequests(engine) }
        session.send(prompt).use { it.waitUntilSettled() }
        val last = session.transcripts().first { transcript ->
            transcript.phase == Phase.IDLE && transcript.entries.any { it.value is EntryKind.Result }
        }
        last.entries.flatMap { it.blocks }.map { it.text }.filter { it.isNotEmpty() }.forEach(::println)
        println("-- " + session.end().reason)
        answers.cancel()
    }
}

/** Allows what any session asks for, and prints why one needs attention. */
private suspend fun answerRequests(engine: Engine) = engine.inbox().collect { event ->
    when (event) {
        is InboxEvent.Opened -> {
            val request = event.request
            engine.respond(request.session, request.record.requestId, PermissionAnswer.Allow(null, null))
        }
        is InboxEvent.Closed -> println("-- ${event.request.record.run { "$toolName: $state" }}")
        is InboxEvent.Attention -> when (val reason = event.reason) {
            is AttentionReason.LimitReached -> println("-- limit reached: ${reason.window}")
            is AttentionReason.Failure -> println("-- ${reason.text}")
            else -> {}
        }
    }
}

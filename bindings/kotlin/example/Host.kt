package dev.bowline.example

import dev.bowline.Bowline
import dev.bowline.DialogueConfiguration
import dev.bowline.EntryKind
import dev.bowline.PermissionState
import dev.bowline.Phase
import dev.bowline.allow
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
        val answers = launch {
            val answered = HashSet<String>()
            session.transcripts().collect { transcript ->
                val requests = transcript.permissions.filter { it.state == PermissionState.OPEN }
                requests.filter { answered.add(it.requestId) }.forEach { session.allow(it.requestId) }
            }
        }
        session.send(prompt).use { it.waitUntilSettled() }
        val last = session.transcripts().first { transcript ->
            transcript.phase == Phase.IDLE && transcript.entries.any { it.value is EntryKind.Result }
        }
        last.entries.flatMap { it.blocks }.map { it.text }.filter { it.isNotEmpty() }.forEach(::println)
        println("-- " + session.end().reason)
        answers.join()
    }
}

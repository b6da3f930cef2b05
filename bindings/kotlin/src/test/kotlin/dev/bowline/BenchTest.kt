package dev.bowline

import java.nio.file.Files
import java.nio.file.Path
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.condition.EnabledIfSystemProperty

/** The cost of the bindings, as ratios; run by `cargo bench-bindings`. */
@EnabledIfSystemProperty(named = "bowline.bench", matches = "true")
class BenchTest {
    private val deltas = 1_000

    private fun stream(): Path {
        val meta = """"session_id":"s","parent_tool_use_id":null"""
        val lines = mutableListOf(
            """{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[]}},"uuid":"a",$meta}""",
            """{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}},"uuid":"b",$meta}""",
        )
        repeat(deltas) {
            lines += """{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}},"uuid":"c$it",$meta}"""
        }
        return Files.writeString(temporaryDirectory().resolve("deltas.jsonl"), lines.joinToString("\n", postfix = "\n"))
    }

    private suspend fun millis(body: suspend () -> Unit): Double {
        val start = System.nanoTime()
        body()
        return (System.nanoTime() - start) / 1e6
    }

    private suspend fun best(times: Int, body: suspend () -> Double): Double = List(times) { body() }.min()

    /** The CPU time of this process in milliseconds. A tick is 10 ms. */
    private fun cpu(): Long {
        val fields = Files.readString(Path.of("/proc/self/stat")).substringAfterLast(") ").split(' ')
        return (fields[11].toLong() + fields[12].toLong()) * 10
    }

    @Test
    fun coalesced(): Unit = runBlocking {
        val path = stream().toString()
        val single = best(7) {
            engine.openRecording(path).use { recording -> millis { recording.changes(maxCount = 1u).collect { } } }
        }
        val fold = best(7) {
            engine.openRecording(path).use { recording -> millis { recording.snapshot().close() } }
        }
        val batch = best(50) {
            engine.openRecording(path).use { recording ->
                recording.snapshot().close()
                millis { recording.changes().collect { } }
            }
        }
        println(
            "kotlin: %d deltas: one by one %.2f ms, as one batch %.3f ms (plus %.2f ms for the fold): ratio %.0f".format(
                deltas, single - fold, batch, fold, (single - fold) / batch,
            ),
        )
    }

    /** Runs the code until the JVM has compiled it, which would take a minute at 60 Hz. */
    private suspend fun warmUp() {
        val path = stream().toString()
        repeat(30) {
            engine.openRecording(path).use { recording -> fold(recording.changes(maxCount = 1u)).collect { } }
        }
    }

    @Test
    fun sixtyHertz(): Unit = runBlocking {
        val cold = share { session -> session.transcripts().collect { } }
        warmUp()
        val alone = share { }
        val flow = share { session -> session.transcripts().collect { } }
        println(
            "kotlin: 1,000 deltas per second at 60 Hz: %.1f %% of a core, %.1f %% of it without a reader; %.1f %% before compilation"
                .format(flow, alone, cold),
        )
    }

    private suspend fun share(read: suspend (DialogueSession) -> Unit): Double {
        val toml = "[[turn]]\nrepeat = true\nsteps = [ { text = { text = \"{{fill:60000}}\", delta = 5, delta_ms = 1 } } ]\n"
        return session(scenario(toml).let { it.copy(args = it.args + listOf("--pace", "1")) }) { session ->
            val reader = kotlinx.coroutines.CoroutineScope(kotlinx.coroutines.Dispatchers.Default).launch { read(session) }
            session.send("talk")
            // Garbage of the warm-up must not count.
            System.gc()
            delay(2_000.milliseconds)
            val (before, start) = cpu() to System.nanoTime()
            delay(8_000.milliseconds)
            val share = (cpu() - before) / ((System.nanoTime() - start) / 1e6) * 100
            reader.cancel()
            share
        }
    }
}

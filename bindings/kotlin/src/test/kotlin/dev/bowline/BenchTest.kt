package dev.bowline

import com.sun.management.OperatingSystemMXBean
import java.lang.management.ManagementFactory
import java.nio.file.Files
import java.nio.file.Path
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.cancelAndJoin
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

    /** The CPU time of this process in nanoseconds. */
    private fun cpu(): Long = (ManagementFactory.getOperatingSystemMXBean() as OperatingSystemMXBean).processCpuTime

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

    /** What a reader costs: turns without and with one alternate in one session. */
    @Test
    fun sixtyHertz(): Unit = runBlocking {
        val toml = "[[turn]]\nrepeat = true\nsteps = [ { text = { text = \"{{fill:36000}}\", delta = 5, delta_ms = 1 } } ]\n"
        session(scenario(toml).let { it.copy(args = it.args + listOf("--pace", "1")) }) { session ->
            val cold = turn(session, reads = true).first
            warmUp()
            repeat(WARM_TURNS) { turn(session, reads = true) }
            val alone = ArrayList<Double>()
            val read = ArrayList<Double>()
            var transcripts = 0
            repeat(ROUNDS) {
                alone += turn(session, reads = false).first
                val (share, count) = turn(session, reads = true)
                read += share
                transcripts += count
            }
            val reader = alone.zip(read) { without, with -> with - without }.sorted()
            println(
                "kotlin: reader at 60 Hz of 1,000 deltas per second: %.2f %% of a core (%.2f to %.2f), with the session %.2f %%, %.2f %% before compilation; %d transcripts a turn"
                    .format(reader[ROUNDS / 2], reader.first(), reader.last(), read.sorted()[ROUNDS / 2], cold, transcripts / ROUNDS),
            )
        }
    }

    /** One turn: the share of a core, in percent, that this process takes during it, and the transcripts that were read. */
    private suspend fun turn(session: DialogueSession, reads: Boolean): Pair<Double, Int> {
        var transcripts = 0
        val reader = CoroutineScope(Dispatchers.Default).launch {
            if (reads) session.transcripts().collect { transcripts += 1 }
        }
        val receipt = session.send("talk")
        // Garbage of what was before must not count.
        System.gc()
        delay(1.seconds)
        val (before, start) = cpu() to System.nanoTime()
        delay(5.seconds)
        val share = (cpu() - before).toDouble() / (System.nanoTime() - start) * 100
        receipt.use { it.waitUntilSettled() }
        reader.cancelAndJoin()
        return share to transcripts
    }

    private companion object {
        /** The number of pairs of a turn without and a turn with a reader. */
        const val ROUNDS = 5

        /** Turns before the first that counts, in which the JVM compiles what a reader runs. */
        const val WARM_TURNS = 3
    }
}
